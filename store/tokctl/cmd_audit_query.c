/* tokctl audit query - rows that pass every filter, oldest first, page by page. */
#include <stdio.h>

#include "store/tokctl/filters.h"
#include "store/tokctl/views.h"

#define LIMIT_MOST 1000000000U

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    wd_filters filters;
    uint64_t from;
    uint64_t limit;
} arguments;

static const struct argp_option options[] = {
    {"from", 'f', "SEQ", 0, "Begin at this row: where the last answer ended", 0},
    {"limit", 'n', "N", 0, "At most so many rows [100]; 0: all of them", 0},
    {0},
};

static const char doc[] =
    "Show rows of the audit trail that pass every filter, oldest first. If there are "
    "more, "
    "standard error says where to go on.\v"
    "  tokctl audit query --since 1h --event 'token.*'\n"
    "  tokctl audit query --call 0190163d-8694-739b-aea5-966c26f8ad91 -o jsonl";

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->ctl;
        state->child_inputs[1] = &args->filters;
        return 0;
    case 'f':
        args->from = wd_filters_number(state, "--from", value, 1, INT64_MAX);
        return 0;
    case 'n':
        args->limit = wd_filters_number(state, "--limit", value, 0, LIMIT_MOST);
        if (args->limit == 0)
            args->limit = UINT64_MAX;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static wd_status print_pages(arguments *args, wd_reader *reader, wd_output *out,
                             uint64_t *ret_next, wd_error *err)
{
    const wd_audit_sink sink = {wd_row_print, out};
    wd_audit_filter *filter = &args->filters.filter;
    filter->from_seq = args->from;
    for (uint64_t left = args->limit; left > 0;) {
        filter->limit =
            left < WD_AUDIT_QUERY_ROWS ? (uint32_t)left : WD_AUDIT_QUERY_ROWS;
        WD_TRY(wd_audit_query(reader, filter, &sink, ret_next, err));
        if (*ret_next == 0)
            return WD_OK;
        filter->from_seq = *ret_next;
        left -= filter->limit;
    }
    return WD_OK;
}

int wd_tokctl_audit_query(wd_tokctl *ctl, int argc, char **argv)
{
    const wd_tokctl_args shape = {options, parse, NULL, doc, &wd_filters_argp};
    arguments args = {.ctl = ctl, .limit = 100};
    uint64_t next = 0;
    wd_error err = {0};
    wd_tokctl_parse(&shape, argc, argv, &args);
    if (wd_filters_settle(&args.filters, &err) != WD_OK)
        wd_tokctl_usage(ctl, &err);
    WD_AUTO(wd_reader) *reader = NULL;
    WD_AUTO(wd_output) *out = wd_output_new(ctl->format, wd_row_columns);
    if (out == NULL)
        return WD_EXIT_FAILED;
    if (wd_tokctl_read(ctl, &reader, &err) != WD_OK ||
        print_pages(&args, reader, out, &next, &err) != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    if (!wd_output_end(out))
        return WD_EXIT_FAILED;
    if (next != 0)
        (void)fprintf(stderr, "there are more: go on with --from %llu\n",
                      (unsigned long long)next);
    return WD_EXIT_OK;
}
