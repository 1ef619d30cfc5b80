/* tokctl audit query - rows that pass every filter, page by page. */
#include <stdio.h>

#include "store/tokctl/backend.h"
#include "store/tokctl/filters.h"
#include "store/tokctl/progress.h"
#include "store/tokctl/verbs.h"
#include "store/tokctl/views.h"

#define LIMIT_MOST 1000000000U
#define PAGE_ROWS  1000U

enum option_key { OPTION_TO = 256, OPTION_NEWEST, OPTION_CURSOR };

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    wd_filters filters;
    Warded__V1__QueryRequest ask;
    uint64_t limit;
} arguments;

static const struct argp_option options[] = {
    {"from", 'f', "SEQ", 0, "Begin at this row: where the last answer ended", 0},
    {"cursor", OPTION_CURSOR, "SEQ", OPTION_ALIAS, NULL, 0},
    {"to", OPTION_TO, "SEQ", 0, "End with this row", 0},
    {"limit", 'n', "N", 0, "At most so many rows [100]; 0: all of them", 0},
    {"newest-first", OPTION_NEWEST, NULL, 0, "The other way round", 0},
    {0},
};

static const char doc[] =
    "Show rows of the audit trail that pass every filter, oldest first. If there are "
    "more, standard error says where to go on. Reading is on record too.\v"
    "  tokctl audit query --since 1h --event 'token.*'\n"
    "  tokctl audit query --call 0190163d-8694-739b-aea5-966c26f8ad91 -o jsonl";

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case 'f':
    case OPTION_CURSOR:
        args->ask.from_seq = wd_tokctl_number(state, "--from", value, 1, INT64_MAX);
        return 0;
    case OPTION_TO:
        args->ask.to_seq = wd_tokctl_number(state, "--to", value, 1, INT64_MAX);
        return 0;
    case OPTION_NEWEST:
        args->ask.order = WARDED__V1__QUERY_REQUEST__ORDER__NEWEST_FIRST;
        return 0;
    case 'n':
        args->limit = wd_tokctl_number(state, "--limit", value, 0, LIMIT_MOST);
        if (args->limit == 0)
            args->limit = UINT64_MAX;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void tell_gaps(const wd_tokctl *ctl, const Warded__V1__QueryReply *reply)
{
    for (size_t i = 0; i < reply->n_gaps && !ctl->quiet; i++)
        (void)fprintf(stderr, "rows %llu to %llu were exported and pruned: %s\n",
                      (unsigned long long)reply->gaps[i]->first_seq,
                      (unsigned long long)reply->gaps[i]->last_seq,
                      reply->gaps[i]->export);
}

static wd_status print_pages(arguments *args, wd_backend *backend, wd_output *out,
                             uint64_t *ret_next, wd_error *err)
{
    wd_progress progress = wd_progress_begin(args->ctl, "rows");
    wd_status status = WD_OK;
    uint64_t next = 1;
    for (uint64_t n = 0; n < args->limit && next != 0 && status == WD_OK;) {
        const ProtobufCMessage *message = NULL;
        const uint64_t left = args->limit - n;
        args->ask.limit = left < PAGE_ROWS ? (uint32_t)left : PAGE_ROWS;
        status = wd_backend_call(backend, WD_AUDIT_METHOD(Query), &args->ask.base,
                                 &message, err);
        if (status != WD_OK)
            break;
        const Warded__V1__QueryReply *reply = (const Warded__V1__QueryReply *)message;
        for (size_t i = 0; i < reply->n_rows; i++)
            wd_output_add(out, wd_record(&reply->rows[i]->base));
        tell_gaps(args->ctl, reply);
        n += reply->n_rows;
        next = reply->next_seq;
        args->ask.from_seq = next;
        wd_progress_show(&progress, n, 0);
    }
    wd_progress_end(&progress);
    *ret_next = next;
    return status;
}

static int print(arguments *args)
{
    uint64_t next = 0;
    wd_error err = {0};
    WD_AUTO(wd_backend) *backend = NULL;
    WD_AUTO(wd_output) *out = wd_output_new(args->ctl, wd_row_columns);
    if (out == NULL)
        return WD_EXIT_FAILED;
    if (wd_backend_open(args->ctl, &backend, &err) != WD_OK ||
        print_pages(args, backend, out, &next, &err) != WD_OK)
        return wd_tokctl_fail(args->ctl, &err);
    if (!wd_output_end(out))
        return WD_EXIT_FAILED;
    if (next != 0 && !args->ctl->quiet)
        (void)fprintf(stderr, "there are more: go on with --from %llu\n",
                      (unsigned long long)next);
    return WD_EXIT_OK;
}

static int run(wd_tokctl *ctl, int argc, char **argv)
{
    arguments args = {.ctl = ctl, .limit = 100};
    warded__v1__query_request__init(&args.ask);
    args.ask.filter =
        wd_filters_parse(&wd_verb_audit_query, argc, argv, &args, &args.filters);
    return print(&args);
}

const wd_verb wd_verb_audit_query = {
    .group = "audit",
    .name = "query",
    .help = "rows of the trail, by filters",
    .doc = doc,
    .options = options,
    .parser = parse,
    .more = &wd_filters_argp,
    .more_title = "Filters:",
    .more_offset = offsetof(arguments, filters),
    .flags = WD_VERB_OFFLINE,
    .run = run,
};
