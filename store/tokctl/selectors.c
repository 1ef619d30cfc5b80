#include "store/tokctl/selectors.h"

#include <stdio.h>
#include <string.h>

#include "store/tokctl/times.h"

#define POOL_CHARS 63

enum option_key {
    OPTION_OWNER = 640,
    OPTION_SCOPE,
    OPTION_STATE,
    OPTION_FAMILY,
    OPTION_KIND,
    OPTION_EXPIRING,
    OPTION_UNUSED,
    OPTION_FILTER,
    OPTION_POOL,
};

static const struct argp_option options[] = {
    {"owner", OPTION_OWNER, "NAME", 0, "Only this owner's", 0},
    {"scope", OPTION_SCOPE, "SCOPE", 0, "Only those with this scope, a glob", 0},
    {"state", OPTION_STATE, "STATE", 0,
     "Only active, retiring, not_yet, expired, revoked, retired, orphaned or spent "
     "ones; several with commas",
     0},
    {"family", OPTION_FAMILY, "ID", 0, "Only the generations of one family", 0},
    {"pool", OPTION_POOL, "NAME", 0, "Only those that 'issue --pool' made for it", 0},
    {"kind", OPTION_KIND, "KIND", 0, "Only data, admin or wrap", 0},
    {"expiring", OPTION_EXPIRING, "SPAN", 0, "Only live ones that end within it", 0},
    {"unused", OPTION_UNUSED, "SPAN", 0, "Only those not used for so long", 0},
    {"filter", OPTION_FILTER, "EXPRESSION", 0,
     "Terms that must all hold: 'owner=ann state=active used<-30d'", 0},
    {0},
};

static const char **place_of(wd_selectors *s, int key)
{
    switch (key) {
    case OPTION_OWNER:
        return &s->owner;
    case OPTION_SCOPE:
        return &s->scope;
    case OPTION_STATE:
        return &s->state;
    case OPTION_FAMILY:
        return &s->family;
    case OPTION_KIND:
        return &s->kind;
    case OPTION_POOL:
        return &s->pool;
    case OPTION_EXPIRING:
        return &s->expiring;
    case OPTION_UNUSED:
        return &s->unused;
    case OPTION_FILTER:
        return &s->filter;
    default:
        return NULL;
    }
}

/* NOLINTNEXTLINE(readability-non-const-parameter): argp's signature */
static error_t parse(int key, char *value, struct argp_state *state)
{
    const char **place = place_of(state->input, key);
    if (place == NULL)
        return ARGP_ERR_UNKNOWN;
    *place = value;
    return 0;
}

const struct argp wd_selectors_argp = {options, parse, NULL, NULL, NULL, NULL, NULL};

/* A filter in the making. */
typedef struct building {
    char *text;
    size_t size;
    wd_error *err;
} building;

static wd_status append(building *b, const char *text)
{
    size_t size = strlen(text);
    size_t gap = b->size > 0 ? 1 : 0;
    if (b->size + gap + size >= WD_SELECTORS_BYTES)
        return wd_fail(b->err, WD_INVALID_ARGUMENT,
                       "all filters together are too long");
    if (gap > 0)
        b->text[b->size++] = ' ';
    memcpy(b->text + b->size, text, size + 1);
    b->size += size;
    return WD_OK;
}

/* FIELD=VALUE; quoted where the value needs it. */
static wd_status append_term(building *b, const char *option, const char *field,
                             const char *value)
{
    char term[WD_SELECTORS_BYTES];
    if (value == NULL)
        return WD_OK;
    if (value[0] == '\0' || strchr(value, '"') != NULL)
        return wd_fail(b->err, WD_INVALID_ARGUMENT,
                       "%s: a value without quotation marks", option);
    const char *quote = strpbrk(value, " \t") != NULL ? "\"" : "";
    int size = snprintf(term, sizeof(term), "%s%s=%s%s", quote, field, value, quote);
    if (size < 0 || (size_t)size >= sizeof(term))
        return wd_fail(b->err, WD_INVALID_ARGUMENT, "%s: too long", option);
    return append(b, term);
}

static wd_status append_span(building *b, const char *option, const char *before,
                             const char *value)
{
    char term[64];
    char span[WD_TIME_TEXT_BYTES];
    int64_t ms = 0;
    if (value == NULL)
        return WD_OK;
    WD_TRY(wd_span_parse(option, value, &ms, b->err));
    wd_span_format(ms, span);
    (void)snprintf(term, sizeof(term), "%s%s", before, span);
    return append(b, term);
}

static bool is_state(const char *name, size_t size)
{
    static const char *const states[] = {"active",  "retiring", "not_yet",  "expired",
                                         "revoked", "retired",  "orphaned", "spent"};
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        if (strlen(states[i]) == size && strncmp(states[i], name, size) == 0)
            return true;
    return false;
}

/* A word that no token is ever in would find nothing, without a word of why. */
static wd_status check_states(const char *states, wd_error *err)
{
    while (states != NULL) {
        const size_t size = strcspn(states, ",");
        if (!is_state(states, size))
            return wd_fail(err, WD_INVALID_ARGUMENT,
                           "--state %.*s: active, retiring, not_yet, expired, revoked, "
                           "retired, orphaned or spent",
                           (int)(size < 40 ? size : 40), states);
        states = states[size] == ',' ? states + size + 1 : NULL;
    }
    return WD_OK;
}

wd_status wd_pool_audience(const char *pool, char ret_audience[WD_POOL_AUDIENCE_BYTES],
                           wd_error *err)
{
    const size_t size = strspn(pool, "abcdefghijklmnopqrstuvwxyz0123456789._-");
    if (size == 0 || pool[size] != '\0' || size > POOL_CHARS)
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "--pool %.40s: 1 to %d of a-z, 0-9, '.', '_' and '-'", pool,
                       POOL_CHARS);
    (void)snprintf(ret_audience, WD_POOL_AUDIENCE_BYTES,
                   "spiffe://*/ns/*/owner/*/pool/%s/gate/*", pool);
    return WD_OK;
}

wd_status wd_selectors_settle(const wd_selectors *selectors,
                              char ret_filter[WD_SELECTORS_BYTES], wd_error *err)
{
    building b = {ret_filter, 0, err};
    char audience[WD_POOL_AUDIENCE_BYTES];
    ret_filter[0] = '\0';
    if (selectors->pool != NULL)
        WD_TRY(wd_pool_audience(selectors->pool, audience, err));
    const struct {
        const char *option, *field, *value;
    } terms[] = {
        {"--owner", "owner", selectors->owner},
        {"--scope", "scope", selectors->scope},
        {"--state", "state", selectors->state},
        {"--family", "family", selectors->family},
        {"--kind", "kind", selectors->kind},
        {"--pool", "audience", selectors->pool != NULL ? audience : NULL},
    };
    WD_TRY(check_states(selectors->state, err));
    for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++)
        WD_TRY(append_term(&b, terms[i].option, terms[i].field, terms[i].value));
    WD_TRY(append_span(&b, "--expiring", "expires<+", selectors->expiring));
    if (selectors->expiring != NULL)
        WD_TRY(append(&b, "state=active,retiring,not_yet"));
    WD_TRY(append_span(&b, "--unused", "used<-", selectors->unused));
    return selectors->filter != NULL ? append(&b, selectors->filter) : WD_OK;
}
