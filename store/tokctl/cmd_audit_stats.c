/* tokctl audit stats - how much there is, of what, and how long the disk will do. */
#include <stdio.h>

#include "proto/c/clock.h"
#include "store/tokctl/backend.h"
#include "store/tokctl/times.h"
#include "store/tokctl/verbs.h"
#include "store/tokctl/views.h"
#include "warded/v1/audit.pb-c.h"

enum option_key { OPTION_SINCE = 256, OPTION_COUNTS, OPTION_SEGMENTS };

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    Warded__V1__StatsRequest ask;
    const char *since;
    bool counts, segments;
} arguments;

static const struct argp_option options[] = {
    {"since", OPTION_SINCE, "TIME", 0, "Counts from then on [all]", 0},
    {"counts", OPTION_COUNTS, NULL, 0, "A line for each event, reason, method, ...", 0},
    {"segments", OPTION_SEGMENTS, NULL, 0, "A line for each segment", 0},
    {0},
};

static const char doc[] =
    "Say how many rows there are, how fast they grow, and how long the disk will do.\v"
    "  tokctl audit stats --field days_left\n"
    "  tokctl audit stats --counts --since 7d";

static const wd_column members[] = {
    {"rows", "rows", WD_COLUMN_TEXT, false},
    {"bytes", "bytes", WD_COLUMN_TEXT, false},
    {"rows a day", "rows_per_day", WD_COLUMN_TEXT, false},
    {"bytes a day", "bytes_per_day", WD_COLUMN_TEXT, false},
    {"free bytes", "free_bytes", WD_COLUMN_TEXT, false},
    {"days left", "days_left", WD_COLUMN_TEXT, false},
    {"never full", "no_end", WD_COLUMN_TEXT, false},
    {"tombstones", "tombstones", WD_COLUMN_TEXT, false},
    {"pruned up to", "pruned_seq", WD_COLUMN_COUNT, false},
    {"not pruned", "retention_problem", WD_COLUMN_TEXT, false},
    {"newest row", "head.seq", WD_COLUMN_TEXT, false},
    {"checkpoint at", "checkpoint_seq", WD_COLUMN_COUNT, false},
    {NULL, NULL, WD_COLUMN_TEXT, false},
};

static const wd_column count_columns[] = {
    {"WHAT", "what", WD_COLUMN_TEXT, false},
    {"VALUE", "value", WD_COLUMN_LONG, false},
    {"ROWS", "rows", WD_COLUMN_TEXT, false},
    {NULL, NULL, WD_COLUMN_TEXT, false},
};

static const wd_column segment_columns[] = {
    {"FIRST", "first_seq", WD_COLUMN_TEXT, false},
    {"LAST", "last_seq", WD_COLUMN_TEXT, false},
    {"FROM", "first_ms", WD_COLUMN_TIME, false},
    {"TO", "last_ms", WD_COLUMN_TIME, false},
    {"BYTES", "bytes", WD_COLUMN_TEXT, false},
    {"SEALED", "sealed", WD_COLUMN_TEXT, false},
    {NULL, NULL, WD_COLUMN_TEXT, false},
};

/* NOLINTNEXTLINE(readability-non-const-parameter): argp's signature */
static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case OPTION_SINCE:
        args->since = value;
        return 0;
    case OPTION_COUNTS:
        args->counts = true;
        return 0;
    case OPTION_SEGMENTS:
        args->segments = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool print(const arguments *args, const Warded__V1__StatsReply *reply)
{
    if (!args->counts && !args->segments)
        return wd_output_one(args->ctl, members, wd_record(&reply->base));
    WD_AUTO(wd_output) *out =
        wd_output_new(args->ctl, args->counts ? count_columns : segment_columns);
    if (out == NULL)
        return false;
    for (size_t i = 0; args->counts && i < reply->n_counts; i++)
        wd_output_add(out, wd_record(&reply->counts[i]->base));
    for (size_t i = 0; !args->counts && i < reply->n_segments; i++)
        wd_output_add(out, wd_record(&reply->segments[i]->base));
    return wd_output_end(out);
}

static int run(wd_tokctl *ctl, int argc, char **argv)
{
    arguments args = {.ctl = ctl};
    wd_error err = {0};
    int64_t ms = 0;
    const ProtobufCMessage *message = NULL;
    WD_AUTO(wd_backend) *backend = NULL;
    warded__v1__stats_request__init(&args.ask);
    wd_tokctl_parse(&wd_verb_audit_stats, argc, argv, &args);
    if (args.since != NULL &&
        wd_time_parse("--since", args.since, wd_clock_wall_ms(wd_clock_system()), &ms,
                      &err) != WD_OK)
        wd_tokctl_usage(ctl, &err);
    args.ask.since_ms = (uint64_t)ms;
    if (wd_backend_open(ctl, &backend, &err) != WD_OK ||
        wd_backend_call(backend, WD_AUDIT_METHOD(Stats), &args.ask.base, &message,
                        &err) != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    return print(&args, (const Warded__V1__StatsReply *)message) ? WD_EXIT_OK
                                                                 : WD_EXIT_FAILED;
}

const wd_verb wd_verb_audit_stats = {
    .group = "audit",
    .name = "stats",
    .help = "how much there is, and how long the disk will do",
    .doc = doc,
    .options = options,
    .parser = parse,
    .run = run,
};
