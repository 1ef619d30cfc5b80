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
    OPTION_CODE,
    OPTION_REASON,
    OPTION_PRINCIPAL,
    OPTION_PEER,
    OPTION_TOKEN,
    OPTION_FAMILY,
    OPTION_OWNER,
    OPTION_METHOD,
    OPTION_POOL,
    OPTION_SESSION,
    OPTION_EPISODE,
    OPTION_TRAJECTORY,
    OPTION_CALL,
    OPTION_TRACE,
    OPTION_TOOL,
};

static const struct argp_option options[] = {
    {"since", OPTION_SINCE, "TIME", 0, "Not older: 2026-11-30T02:00:00Z, or 1h (ago)",
     0},
    {"until", OPTION_UNTIL, "TIME", 0, "Older than this", 0},
    {"event", OPTION_EVENT, "GLOB", 0, "Such as call.end or token.*", 0},
    {"outcome", OPTION_OUTCOME, "WORD", 0, "ok, refused or failed", 0},
    {"code", OPTION_CODE, "N,...", 0, "One of these codes, gRPC's numbers", 0},
    {"reason", OPTION_REASON, "NAME", 0, "Such as TOKEN_EXPIRED", 0},
    {"principal", OPTION_PRINCIPAL, "URI", 0, "Whose certificate it was", 0},
    {"peer", OPTION_PEER, "GLOB", 0, "By URI, address or certificate's digest", 0},
    {"token", OPTION_TOKEN, "ID", 0, "With this token", 0},
    {"family", OPTION_FAMILY, "ID", 0, "With any generation of this token", 0},
    {"owner", OPTION_OWNER, "NAME", 0, "With a token of this owner", 0},
    {"method", OPTION_METHOD, "PATH", 0, "Such as /warded.v1.Token/Issue", 0},
    {"pool", OPTION_POOL, "NAME", 0, "Of the gate", 0},
    {"session", OPTION_SESSION, "ID", 0, "One session", 0},
    {"episode", OPTION_EPISODE, "ID", 0, "One episode", 0},
    {"trajectory", OPTION_TRAJECTORY, "ID", 0, "One trajectory", 0},
    {"call", OPTION_CALL, "UUID", 0, "One call, begin and end", 0},
    {"trace", OPTION_TRACE, "ID", 0, "One trace, 32 digits", 0},
    {"tool", OPTION_TOOL, "NAME", 0, "With this tool", 0},
    {0},
};

/* Whose value is sent as it is. */
static char **sent_place(Warded__V1__AuditFilter *filter, int key)
{
    switch (key) {
    case OPTION_EVENT:
        return &filter->event;
    case OPTION_OUTCOME:
        return &filter->outcome;
    case OPTION_REASON:
        return &filter->reason;
    case OPTION_PRINCIPAL:
        return &filter->principal;
    case OPTION_PEER:
        return &filter->peer;
    case OPTION_TOKEN:
        return &filter->token_id;
    case OPTION_FAMILY:
        return &filter->family;
    case OPTION_OWNER:
        return &filter->owner;
    case OPTION_METHOD:
        return &filter->method;
    case OPTION_POOL:
        return &filter->pool;
    case OPTION_SESSION:
        return &filter->session_id;
    case OPTION_EPISODE:
        return &filter->episode_id;
    case OPTION_TRAJECTORY:
        return &filter->trajectory_id;
    case OPTION_CALL:
        return &filter->call_id;
    case OPTION_TRACE:
        return &filter->trace_id;
    case OPTION_TOOL:
        return &filter->tool;
    default:
        return NULL;
    }
}

/* argp's signature. NOLINTNEXTLINE(readability-non-const-parameter) */
static error_t parse(int key, char *value, struct argp_state *state)
{
    wd_filters *filters = state->input;
    char **place = sent_place(&filters->filter, key);
    if (place != NULL)
        *place = value;
    else if (key == OPTION_SINCE)
        filters->since = value;
    else if (key == OPTION_UNTIL)
        filters->until = value;
    else if (key == OPTION_CODE)
        filters->code = value;
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

const struct argp wd_filters_argp = {options, parse, NULL, NULL, NULL, NULL, NULL};

static wd_status read_codes(wd_filters *filters, wd_error *err)
{
    const char *at = filters->code;
    while (at != NULL) {
        size_t digits = strspn(at, "0123456789");
        unsigned long code = digits > 0 && digits < 3 ? strtoul(at, NULL, 10) : 99;
        if (code > 16 || filters->filter.n_codes == WD_FILTERS_CODES ||
            (at[digits] != '\0' && at[digits] != ','))
            return wd_fail(err, WD_INVALID_ARGUMENT, "--code %.40s: numbers of 0 to 16",
                           filters->code);
        filters->codes[filters->filter.n_codes++] = (uint32_t)code;
        at = at[digits] == ',' ? at + digits + 1 : NULL;
    }
    filters->filter.codes = filters->codes;
    return WD_OK;
}

/* The times, read against the clock, and the codes. */
static wd_status settle(wd_filters *filters, wd_error *err)
{
    int64_t now = wd_clock_wall_ms(wd_clock_system());
    int64_t ms = 0;
    if (filters->since != NULL) {
        WD_TRY(wd_time_parse("--since", filters->since, now, &ms, err));
        filters->filter.since_ms = (uint64_t)ms;
    }
    if (filters->until != NULL) {
        WD_TRY(wd_time_parse("--until", filters->until, now, &ms, err));
        filters->filter.until_ms = (uint64_t)ms;
    }
    return read_codes(filters, err);
}

Warded__V1__AuditFilter *wd_filters_parse(const wd_verb *verb, int argc, char **argv,
                                          void *input, wd_filters *filters)
{
    wd_error err = {0};
    *filters = (wd_filters){.since = NULL};
    warded__v1__audit_filter__init(&filters->filter);
    wd_tokctl_parse(verb, argc, argv, input);
    if (settle(filters, &err) != WD_OK)
        wd_tokctl_usage(*(wd_tokctl **)input, &err); /* its first member */
    return &filters->filter;
}
