/* tokctl audit tail - the newest rows that pass every filter, and those that follow. */
#include <stdio.h>
#include <time.h>

#include "store/tokctl/backend.h"
#include "store/tokctl/filters.h"
#include "store/tokctl/verbs.h"
#include "store/tokctl/views.h"

#define LINES_MOST 1000U
#define WAIT_MS    30000U
#define LOOK_MS    200 /* offline nobody wakes us */

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    wd_filters filters;
    Warded__V1__TailRequest ask;
    bool follow;
} arguments;

static const struct argp_option options[] = {
    {"lines", 'n', "N", 0, "So many rows [20], at most 1000", 0},
    {"follow", 'f', NULL, 0, "Go on with each row that follows, until interrupted", 0},
    {0},
};

static const char doc[] = "Show the newest rows of the audit trail, the newest last.\v"
                          "  tokctl audit tail -n 5 --outcome refused\n"
                          "  tokctl audit tail -f -o jsonl";

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case 'n':
        args->ask.limit =
            (uint32_t)wd_tokctl_number(state, "--lines", value, 1, LINES_MOST);
        return 0;
    case 'f':
        args->follow = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Each answer is printed by itself: who follows wants it now. A table's titles come
 * once. */
static bool print(const wd_tokctl *ctl, const Warded__V1__TailReply *reply)
{
    WD_AUTO(wd_output) *out = wd_output_new(ctl, wd_row_columns);
    if (out == NULL)
        return false;
    for (size_t i = 0; i < reply->n_rows; i++)
        wd_output_add(out, wd_record(&reply->rows[i]->base));
    return wd_output_end(out);
}

static void pause_offline(const wd_backend *backend)
{
    const struct timespec ms = {.tv_nsec = LOOK_MS * 1000000L};
    if (wd_backend_is_offline(backend))
        (void)nanosleep(&ms, NULL);
}

static int follow(arguments *args, wd_backend *backend)
{
    wd_tokctl ctl = *args->ctl; /* JSON's array would never end: a line a row */
    wd_error err = {0};
    if (ctl.format == WD_FORMAT_JSON)
        ctl.format = WD_FORMAT_JSONL;
    for (;;) {
        const ProtobufCMessage *message = NULL;
        if (wd_backend_call(backend, WD_AUDIT_METHOD(Tail), &args->ask.base, &message,
                            &err) != WD_OK)
            return wd_tokctl_fail(&ctl, &err);
        const Warded__V1__TailReply *reply = (const Warded__V1__TailReply *)message;
        const bool first = args->ask.from_seq == 0;
        if ((reply->n_rows > 0 || first) && !print(&ctl, reply))
            return WD_EXIT_FAILED;
        if (!args->follow)
            return WD_EXIT_OK;
        if (reply->n_rows == 0)
            pause_offline(backend);
        ctl.no_headers = true;
        args->ask.from_seq = reply->next_seq;
        args->ask.limit = LINES_MOST;
        args->ask.wait_ms = WAIT_MS;
    }
}

static int run(wd_tokctl *ctl, int argc, char **argv)
{
    arguments args = {.ctl = ctl};
    wd_error err = {0};
    WD_AUTO(wd_backend) *backend = NULL;
    warded__v1__tail_request__init(&args.ask);
    args.ask.limit = 20;
    args.ask.filter =
        wd_filters_parse(&wd_verb_audit_tail, argc, argv, &args, &args.filters);
    if (wd_backend_open(ctl, &backend, &err) != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    if (args.follow)
        return follow(&args, backend);
    const ProtobufCMessage *message = NULL;
    if (wd_backend_call(backend, WD_AUDIT_METHOD(Tail), &args.ask.base, &message,
                        &err) != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    return print(ctl, (const Warded__V1__TailReply *)message) ? WD_EXIT_OK
                                                              : WD_EXIT_FAILED;
}

const wd_verb wd_verb_audit_tail = {
    .group = "audit",
    .name = "tail",
    .help = "the newest rows, and those that follow",
    .doc = doc,
    .options = options,
    .parser = parse,
    .more = &wd_filters_argp,
    .more_title = "Filters:",
    .more_offset = offsetof(arguments, filters),
    .flags = WD_VERB_OFFLINE,
    .run = run,
};
