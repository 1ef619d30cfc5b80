/* tokctl audit tail - the newest rows that pass every filter. */
#include "store/tokctl/filters.h"
#include "store/tokctl/views.h"

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    wd_filters filters;
} arguments;

static const struct argp_option options[] = {
    {"lines", 'n', "N", 0, "So many rows [20], at most 1000", 0},
    {0},
};

static const char doc[] = "Show the newest rows of the audit trail, the newest last.\v"
                          "  tokctl audit tail -n 5 --outcome refused";

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->ctl;
        state->child_inputs[1] = &args->filters;
        return 0;
    case 'n':
        args->filters.filter.limit = (uint32_t)wd_filters_number(
            state, "--lines", value, 1, WD_AUDIT_QUERY_ROWS);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int wd_tokctl_audit_tail(wd_tokctl *ctl, int argc, char **argv)
{
    const wd_tokctl_args shape = {options, parse, NULL, doc, &wd_filters_argp};
    arguments args = {.ctl = ctl, .filters.filter.limit = 20};
    wd_error err = {0};
    wd_tokctl_parse(&shape, argc, argv, &args);
    if (wd_filters_settle(&args.filters, &err) != WD_OK)
        wd_tokctl_usage(ctl, &err);
    WD_AUTO(wd_reader) *reader = NULL;
    WD_AUTO(wd_output) *out = wd_output_new(ctl->format, wd_row_columns);
    if (out == NULL)
        return WD_EXIT_FAILED;
    const wd_audit_sink sink = {wd_row_print, out};
    if (wd_tokctl_read(ctl, &reader, &err) != WD_OK ||
        wd_audit_tail(reader, &args.filters.filter, &sink, &err) != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    return wd_output_end(out) ? WD_EXIT_OK : WD_EXIT_FAILED;
}
