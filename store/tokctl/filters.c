#include "store/tokctl/filters.h"

#include <stdlib.h>
#include <string.h>

#include "proto/c/clock.h"
#include "store/tokctl/times.h"

enum option_key {
    OPTION_SINCE = 512,
    OPTION_UNTIL,
    OPTION_EVENT,
    OPTION_OUTCOME,
    OPTION_PRINCIPAL,
    OPTION_TOKEN,
    OPTION_METHOD,
    OPTION_CALL,
    OPTION_TRAJECTORY,
};

static const struct argp_option options[] = {
    {"since", OPTION_SINCE, "TIME", 0, "Not older: 2026-11-30T02:00:00Z, or 1h (ago)",
     0},
    {"until", OPTION_UNTIL, "TIME", 0, "Older than this", 0},
    {"event", OPTION_EVENT, "GLOB", 0, "Such as call.end or token.*", 0},
    {"outcome", OPTION_OUTCOME, "WORD", 0, "ok, refused or failed", 0},
    {"principal", OPTION_PRINCIPAL, "URI", 0, "Whose certificate it was", 0},
    {"token", OPTION_TOKEN, "ID", 0, "With this token", 0},
    {"method", OPTION_METHOD, "PATH", 0, "Such as /warded.v1.Token/Issue", 0},
    {"call", OPTION_CALL, "UUID", 0, "One call, begin and end", 0},
    {"trajectory", OPTION_TRAJECTORY, "ID", 0, "One trajectory", 0},
    {0},
};

/* Where the option's value goes, or NULL when it is none of ours. */
static const char **place_of(wd_filters *filters, int key)
{
    switch (key) {
    case OPTION_SINCE:
        return &filters->since;
    case OPTION_UNTIL:
        return &filters->until;
    case OPTION_EVENT:
        return &filters->filter.event;
    case OPTION_OUTCOME:
        return &filters->filter.outcome;
    case OPTION_PRINCIPAL:
        return &filters->filter.principal;
    case OPTION_TOKEN:
        return &filters->filter.token_id;
    case OPTION_METHOD:
        return &filters->filter.method;
    case OPTION_CALL:
        return &filters->filter.call_id;
    case OPTION_TRAJECTORY:
        return &filters->filter.trajectory_id;
    default:
        return NULL;
    }
}

/* argp's signature. NOLINTNEXTLINE(readability-non-const-parameter) */
static error_t parse(int key, char *value, struct argp_state *state)
{
    const char **place = place_of(state->input, key);
    if (place == NULL)
        return ARGP_ERR_UNKNOWN;
    *place = value;
    return 0;
}

const struct argp wd_filters_argp = {options, parse, NULL, NULL, NULL, NULL, NULL};

wd_status wd_filters_settle(wd_filters *filters, wd_error *err)
{
    int64_t now = wd_clock_wall_ms(wd_clock_system());
    wd_audit_filter *filter = &filters->filter;
    if (filters->since != NULL)
        WD_TRY(wd_time_parse("--since", filters->since, now, &filter->since_ms, err));
    if (filters->until != NULL)
        WD_TRY(wd_time_parse("--until", filters->until, now, &filter->until_ms, err));
    return WD_OK;
}

uint64_t wd_filters_number(struct argp_state *state, const char *option,
                           const char *text, uint64_t least, uint64_t most)
{
    size_t digits = strspn(text, "0123456789");
    uint64_t number = digits < 19 ? strtoull(text, NULL, 10) : UINT64_MAX;
    if (digits == 0 || text[digits] != '\0' || number < least || number > most)
        wd_tokctl_misuse(state, "%s %s: a whole number of %llu to %llu", option, text,
                         (unsigned long long)least, (unsigned long long)most);
    return number;
}
