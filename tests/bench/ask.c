/* bench_ask DIR - how long the answers to several questions take, of the trail at DIR, which
 * bench_trail has filled; prints one JSON object. */
#include <inttypes.h>
#include <stdio.h>

#include "store/audit.h"
#include "tests/bench/measure.h"
#include "tests/bench/rows.h"

typedef struct question {
    const char *name;
    wd_audit_filter filter;
} question;

static bool count(void *arg, const wd_audit_row *row)
{
    (void)row;
    ++*(uint64_t *)arg;
    return true;
}

/* The first is for the newest rows; the others for all. */
static wd_status ask(wd_reader *reader, const question *q, bool first, wd_error *err)
{
    uint64_t rows = 0, next = 0;
    const wd_audit_sink sink = {count, &rows};
    const int64_t began_ns = wd_bench_now_ns();
    if (first)
        WD_TRY(wd_audit_tail(reader, &q->filter, &sink, err));
    else
        WD_TRY(wd_audit_query(reader, &q->filter, &sink, &next, err));
    (void)printf("%s[\"%s\", %" PRIu64 ", %.2f]", first ? "" : ", ", q->name, rows,
                 (double)(wd_bench_now_ns() - began_ns) / 1e6);
    return WD_OK;
}

static wd_status ask_all(const char *dir, wd_error *err)
{
    wd_head head;
    wd_bench_texts early, middle;
    WD_AUTO(wd_reader) *reader = NULL;
    WD_TRY(wd_reader_open(dir, NULL, &reader, err));
    WD_TRY(wd_audit_read_head(reader, &head, err));
    (void)wd_bench_row(head.seq / 10, &early);
    (void)wd_bench_row(head.seq / 2, &middle);
    const question all[] = {
        {"the last 100", {.limit = 100}},
        {"one call", {.call_id = middle.call}},
        {"one call, with its method and outcome",
         {.call_id = early.call,
          .method = "/warded.v1.Observation/GetObservation",
          .outcome = "ok"}},
        {"one trajectory", {.trajectory_id = middle.trajectory}},
        {"100 of a token and an owner", {.token_id = "0123456789", .owner = "ann"}},
        {"100 refusals, of which there are none", {.outcome = "refused"}},
    };
    (void)printf("{\"rows\": %" PRIu64 ", \"asked\": [", head.seq);
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        WD_TRY(ask(reader, &all[i], i == 0, err));
    (void)printf("]}\n");
    return WD_OK;
}

int main(int argc, char **argv)
{
    wd_error err = {0};
    if (argc == 2 && ask_all(argv[1], &err) == WD_OK)
        return 0;
    (void)fprintf(stderr, "bench_ask: %s\n", argc == 2 ? err.msg : "bench_ask DIR");
    return 1;
}
