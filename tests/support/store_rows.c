/* store_rows - a store for tests of programs: made, filled, held, or written to.
 *
 *     store_rows DIR fill N [S]  make it if need be, append N rows, S seconds old, end
 *     store_rows DIR text T    append one row whose principal, detail and tool are T
 *     store_rows DIR hold      open it, say "ready", keep it until standard input ends
 *     store_rows DIR run       append for ever, 64 rows at a time; for each that is
 *                              acknowledged a line "SEQ HEXHASH", the head that did it:
 *                              the form of a witness
 *     store_rows DIR run N     the same, and segments of N bytes are sealed meanwhile
 *     store_rows DIR seal      seal all rows but the newest
 * Exit status 1, with the reason: the store could not be opened or written. */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/c/clock.h"
#include "proto/c/sha256.h"
#include "store/archive.h"
#include "store/audit.h"
#include "store/writer.h"

#define IN_FLIGHT 64

typedef struct row_job {
    wd_store_job job; /* first */
    wd_store *store;
    sem_t *free; /* posted when the job may be used again */
    bool busy;
    wd_audit_row row;
} row_job;

static int die(const wd_error *err)
{
    (void)fprintf(stderr, "store_rows: %s\n", err->msg);
    return 1;
}

static wd_status apply(wd_store *store, wd_store_job *job, wd_error *err)
{
    return wd_audit_append(store, &((row_job *)job)->row, err);
}

static int append(wd_store *store, const wd_audit_row *row)
{
    row_job job = {.job.apply = apply, .row = *row};
    wd_error err = {0};
    return wd_store_run(store, &job.job, &err) == WD_OK ? 0 : die(&err);
}

static int fill(wd_store *store, const char *count, const char *age_s)
{
    long n = strtol(count, NULL, 10);
    int64_t ms = age_s != NULL ? strtoll(age_s, NULL, 10) * 1000 : 0;
    for (long i = 0; i < n; i++) {
        char call[32];
        (void)snprintf(call, sizeof(call), "call-%ld", i / 2);
        wd_audit_row row = {.event = i % 2 == 0 ? "call.begin" : "call.end",
                            .outcome = i % 2 == 0 ? NULL : "ok",
                            .principal = i % 3 == 0 ? "spiffe://x/a" : "spiffe://x/b",
                            .call_id = call,
                            .wall_ms = wd_clock_wall_ms(wd_clock_system()) - ms,
                            .bytes_in = (1ULL << 53) + 1};
        if (append(store, &row) != 0)
            return 1;
    }
    return 0;
}

static int text(wd_store *store, const char *value)
{
    wd_audit_row row = {
        .event = "auth", .principal = value, .detail = value, .tool = value};
    return append(store, &row);
}

static int hold(void)
{
    char byte = 0;
    (void)puts("ready");
    (void)fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
    return 0;
}

static void done(wd_store_job *job)
{
    row_job *own = (row_job *)job;
    wd_head head = wd_audit_head(own->store);
    char hash[WD_SHA256_HEX_BYTES];
    wd_hex((wd_span){head.hash, sizeof(head.hash)}, hash);
    if (job->status == WD_OK)
        (void)dprintf(STDOUT_FILENO, "%llu %s\n", (unsigned long long)head.seq, hash);
    __atomic_store_n(&own->busy, false, __ATOMIC_RELEASE);
    (void)sem_post(own->free);
}

static void passed(void *arg, const wd_error *err)
{
    (void)arg;
    if (err == NULL)
        return;
    (void)die(err);
    exit(1); /* NOLINT(concurrency-mt-unsafe): a test's program */
}

static int run(wd_store *store, uint64_t segment_bytes)
{
    static row_job jobs[IN_FLIGHT];
    wd_writer *writer = NULL;
    wd_archive *archive = NULL;
    wd_error err = {0};
    sem_t free_jobs;
    if (sem_init(&free_jobs, 0, IN_FLIGHT) != 0 ||
        wd_writer_start(store, &writer, &err) != WD_OK)
        return die(&err);
    const wd_archive_options options = {.store = store,
                                        .writer = writer,
                                        .segment_bytes = segment_bytes,
                                        .pass_ms = 1,
                                        .passed = passed};
    if (segment_bytes != 0 && wd_archive_start(&options, &archive, &err) != WD_OK)
        return die(&err);
    for (size_t i = 0;; i = (i + 1) % IN_FLIGHT) {
        if (__atomic_load_n(&jobs[i].busy, __ATOMIC_ACQUIRE))
            continue;
        (void)sem_wait(&free_jobs);
        jobs[i] = (row_job){.job = {.apply = apply, .done = done},
                            .store = store,
                            .free = &free_jobs,
                            .busy = true,
                            .row = {.event = "call.begin"}};
        wd_writer_submit(writer, &jobs[i].job);
    }
}

static int seal(wd_store *store)
{
    WD_AUTO(wd_archivist) *archivist = NULL;
    const wd_archive_options options = {.store = store};
    wd_error err = {0};
    if (wd_archivist_open(&options, &archivist, &err) != WD_OK ||
        wd_archivist_seal(archivist, &err) != WD_OK)
        return die(&err);
    return 0;
}

int main(int argc, char **argv)
{
    WD_AUTO(wd_store) *store = NULL;
    wd_error err = {0};
    if (argc < 3 || argc > 5) {
        (void)fprintf(stderr,
                      "usage: store_rows DIR fill N [S]|text T|hold|run [N]|seal\n");
        return 2;
    }
    wd_store_options options = {
        .dir = argv[1], .create = true, .reserve_bytes = 1 << 20};
    if (wd_store_open(&options, &store, &err) != WD_OK)
        return die(&err);
    if (strcmp(argv[2], "hold") == 0)
        return hold();
    if (strcmp(argv[2], "run") == 0)
        return run(store, argc == 4 ? strtoull(argv[3], NULL, 10) : 0);
    if (strcmp(argv[2], "seal") == 0)
        return seal(store);
    if (argc >= 4 && strcmp(argv[2], "fill") == 0)
        return fill(store, argv[3], argc == 5 ? argv[4] : NULL);
    if (argc == 4 && strcmp(argv[2], "text") == 0)
        return text(store, argv[3]);
    return 2;
}
