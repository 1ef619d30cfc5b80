/* tokctl audit query - rows that pass every filter, page by page. */
#include <stdio.h>

#include "store/tokctl/backend.h"
#include "store/tokctl/cmd_audit_sql.h"
#include "store/tokctl/filters.h"
#include "store/tokctl/progress.h"
#include "store/tokctl/verbs.h"
#include "store/tokctl/views.h"

#define LIMIT_MOST 1000000000U
#define PAGE_ROWS  1000U

enum option_key { OPTION_TO = 256, OPTION_NEWEST, OPTION_CURSOR, OPTION_SQL };

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    wd_filters filters;
    Warded__V1__QueryRequest ask;
    uint64_t limit;
    const char *sql;
} arguments;

static const struct argp_option options[] = {
    {"from", 'f', "SEQ", 0, "Begin at this row: where the last answer ended", 0},
    {"cursor", OPTION_CURSOR, "SEQ", OPTION_ALIAS, NULL, 0},
    {"to", OPTION_TO, "SEQ", 0, "End with this row", 0},
    {"limit", 'n', "N", 0, "At most so many rows [100]; 0: all of them", 0},
    {"newest-first", OPTION_NEWEST, NULL, 0, "The other way round", 0},
    {"sql", OPTION_SQL, "SELECT", 0,
     "With --db or --home: this SELECT over the table audit instead, whose columns are "
     "the members of -o json; nothing else. It has --timeout",
     0},
    {0},
};

static const char doc[] =
    "Show rows of the audit trail that pass every filter, oldest first. If there are "
    "more, standard error says where to go on. A gate puts on record that it was "
    "read.\v"
    "  tokctl audit query --since 1h --event 'token.*'\n"
    "  tokctl audit query --call 0190163d-8694-739b-aea5-966c26f8ad91 -o jsonl\n"
    "\n"
    "What filters can't say, a SELECT can, on the gate's host. It is run on a table in "
    "memory that has no file behind it: what would write, or read anything else, is "
    "refused (exit status 4). What it says of seq, wall_ms and what texts are equal to "
    "narrows what is read.\n"
    "\n"
    "  tokctl --db STORE audit query --sql \"SELECT owner, count(*) AS calls FROM "
    "audit "
    "WHERE event = 'call.end' GROUP BY owner ORDER BY calls DESC\"";

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
    case OPTION_SQL:
        args->sql = value;
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

static int run_sql(const arguments *args)
{
    wd_error err;
    const Warded__V1__QueryRequest *ask = &args->ask;
    const bool filtered = protobuf_c_message_get_packed_size(&ask->filter->base) > 0;
    if (args->ctl->db == NULL && args->ctl->home == NULL) {
        (void)wd_fail(&err, WD_INVALID_ARGUMENT,
                      "--sql is for --db and --home, on the store's host: a gate takes "
                      "filters alone");
        wd_tokctl_usage(args->ctl, &err);
    }
    if (filtered || ask->from_seq != 0 || ask->to_seq != 0 || ask->order != 0) {
        (void)wd_fail(&err, WD_INVALID_ARGUMENT,
                      "--sql says itself which rows: without filters, --from, --to and "
                      "--newest-first");
        wd_tokctl_usage(args->ctl, &err);
    }
    return wd_audit_sql_run(args->ctl, args->sql, args->limit);
}

static int run(wd_tokctl *ctl, int argc, char **argv)
{
    arguments args = {.ctl = ctl, .limit = 100};
    warded__v1__query_request__init(&args.ask);
    args.ask.filter =
        wd_filters_parse(&wd_verb_audit_query, argc, argv, &args, &args.filters);
    return args.sql != NULL ? run_sql(&args) : print(&args);
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
