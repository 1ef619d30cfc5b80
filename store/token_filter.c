#include "store/token_filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "proto/c/limits.h"
#include "store/token_table.h"

#define FIELD_CHARS 16U

typedef enum op {
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
} op;

/* For the text of a field; `buffer` for what has to be put together. */
#define BUFFER_BYTES (WD_URI_BYTES + 1)

typedef struct looking {
    const wd_token *token;
    int64_t now_ms;
    char *buffer;
} looking;

typedef struct field {
    const char *name;
    const char *(*text)(const looking *at);
    int64_t (*number)(const wd_token *token);
    bool time;
} field;

typedef struct term {
    const field *field; /* NULL: scope */
    op op;
    const char *value; /* of a text; in filter->text */
    int64_t number;
} term;

struct wd_token_filter {
    char *text;
    int64_t now_ms;
    size_t n_terms;
    term terms[WD_TOKEN_FILTER_TERMS];
};

/* --- fields ----------------------------------------------------------------------- */

#define TEXT_FIELD(name, expression)                                                   \
    static const char *text_##name(const looking *at)                                  \
    {                                                                                  \
        return expression;                                                             \
    }
#define NUMBER_FIELD(name, expression)                                                 \
    static int64_t number_##name(const wd_token *token)                                \
    {                                                                                  \
        return expression;                                                             \
    }

TEXT_FIELD(id, at->token->id)
TEXT_FIELD(family, at->token->family)
TEXT_FIELD(kind, wd_token_kind_name(at->token->kind))
TEXT_FIELD(name, at->token->name)
TEXT_FIELD(owner, at->token->owner)
TEXT_FIELD(purpose, at->token->purpose)
TEXT_FIELD(audience, at->token->audience)
TEXT_FIELD(bind, at->token->bind)
TEXT_FIELD(parent, at->token->parent)
TEXT_FIELD(reason, wd_token_revoked_reason(at->token))
TEXT_FIELD(state, wd_token_state_name(wd_token_state_at(at->token, at->now_ms)))
NUMBER_FIELD(generation, token->generation)
NUMBER_FIELD(uses, wd_token_uses(token))
NUMBER_FIELD(max_uses, token->limits.max_uses)
NUMBER_FIELD(concurrency, token->limits.concurrency)
NUMBER_FIELD(running, wd_token_running(token))
NUMBER_FIELD(depth, (int64_t)wd_token_depth(token))
NUMBER_FIELD(created, token->created_ms)
NUMBER_FIELD(not_before, token->not_before_ms)
NUMBER_FIELD(expires, wd_token_expires_ms(token))
NUMBER_FIELD(used, wd_token_last_used_ms(token))
NUMBER_FIELD(retires, wd_token_retires_ms(token))
NUMBER_FIELD(revoked, wd_token_revoked_ms(token))
NUMBER_FIELD(renewable, token->renewable_until_ms)

static const char *text_peer(const looking *at)
{
    char address[WD_TOKEN_PEER_BYTES];
    wd_token_last_peer(at->token, at->buffer, address);
    return at->buffer;
}

static const char *text_address(const looking *at)
{
    char uri[BUFFER_BYTES];
    wd_token_last_peer(at->token, uri, at->buffer);
    return at->buffer;
}

#define TEXT(name)   {#name, text_##name, NULL, false}
#define NUMBER(name) {#name, NULL, number_##name, false}
#define TIME(name)   {#name, NULL, number_##name, true}

static const field fields[] = {
    TEXT(id),         TEXT(family),        TEXT(kind),
    TEXT(name),       TEXT(owner),         TEXT(purpose),
    TEXT(audience),   TEXT(bind),          TEXT(parent),
    TEXT(reason),     TEXT(state),         TEXT(peer),
    TEXT(address),    NUMBER(uses),        NUMBER(depth),
    NUMBER(max_uses), NUMBER(running),     TIME(created),
    TIME(expires),    NUMBER(concurrency), TIME(not_before),
    TIME(used),       TIME(retires),       NUMBER(generation),
    TIME(renewable),  TIME(revoked),       {"scope", NULL, NULL, false},
};

static const field *find_field(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (strlen(fields[i].name) == length &&
            strncmp(fields[i].name, name, length) == 0)
            return &fields[i];
    }
    return NULL;
}

/* --- values ----------------------------------------------------------------------- */

static bool read_digits(const char **at, int64_t *ret_number)
{
    char *end = NULL;
    if (**at < '0' || **at > '9')
        return false;
    errno = 0;
    intmax_t number = strtoimax(*at, &end, 10);
    *ret_number = (int64_t)number;
    *at = end;
    return errno == 0;
}

static int64_t unit_ms(const char *unit)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"ms", 1},      {"s", 1000},     {"m", 60000},
                 {"h", 3600000}, {"d", 86400000}, {"w", 604800000}};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(units[i].name, unit) == 0)
            return units[i].ms;
    }
    return 0;
}

/* "+12h", "-30d" */
static bool read_relative(const char *text, int64_t now_ms, int64_t *ret_ms)
{
    const char *at = text + 1;
    int64_t count = 0;
    int64_t span = 0;
    if (!read_digits(&at, &count) || unit_ms(at) == 0 ||
        __builtin_mul_overflow(count, unit_ms(at), &span))
        return false;
    return text[0] == '+' ? !__builtin_add_overflow(now_ms, span, ret_ms)
                          : !__builtin_sub_overflow(now_ms, span, ret_ms);
}

static bool read_date(const char *text, int64_t *ret_ms)
{
    static const char *const forms[] = {"%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ"};
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct tm utc = {0};
        const char *end = strptime(text, forms[i], &utc);
        if (end != NULL && *end == '\0') {
            *ret_ms = (int64_t)timegm(&utc) * 1000;
            return true;
        }
    }
    return false;
}

static bool read_number(const char *text, int64_t *ret_number)
{
    const char *at = text;
    return read_digits(&at, ret_number) && *at == '\0';
}

static bool read_time(const char *text, int64_t now_ms, int64_t *ret_ms)
{
    if (text[0] == '+' || text[0] == '-')
        return read_relative(text, now_ms, ret_ms);
    return read_number(text, ret_ms) || read_date(text, ret_ms);
}

/* --- reading ---------------------------------------------------------------------- */

/* Length of the operator; 0: none. */
static size_t read_op(const char *at, op *ret_op)
{
    static const struct {
        const char *text;
        op op;
    } ops[] = {{"!=", OP_NE}, {"<=", OP_LE}, {">=", OP_GE},
               {"=", OP_EQ},  {"<", OP_LT},  {">", OP_GT}};
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        size_t length = strlen(ops[i].text);
        if (strncmp(at, ops[i].text, length) == 0) {
            *ret_op = ops[i].op;
            return length;
        }
    }
    return 0;
}

static wd_status read_value(const wd_token_filter *filter, term *t, const char *text,
                            wd_error *err)
{
    bool is_text = t->field->number == NULL;
    t->value = text;
    if (is_text && t->op != OP_EQ && t->op != OP_NE)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "filter: %s is a text, and knows = and != alone",
                         t->field->name);
    if (is_text)
        return WD_OK;
    if (t->field->time ? read_time(text, filter->now_ms, &t->number)
                       : read_number(text, &t->number))
        return WD_OK;
    return wd_refuse(err, WD_REASON_FIELD_INVALID, "filter: %s: \"%.32s\" is no %s",
                     t->field->name, text,
                     t->field->time
                         ? "time (2026-01-31, 2026-01-31T12:00:00Z, +12h, -30d)"
                         : "number");
}

static wd_status read_term(wd_token_filter *filter, char *text, wd_error *err)
{
    if (filter->n_terms == WD_TOKEN_FILTER_TERMS)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "filter: at most %u terms",
                         WD_TOKEN_FILTER_TERMS);
    term *t = &filter->terms[filter->n_terms];
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz_");
    size_t op_length = read_op(text + length, &t->op);
    t->field = find_field(text, length);
    if (t->field == NULL || op_length == 0)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "filter: \"%.32s\" is no FIELD=VALUE; the fields are id, "
                         "family, kind, name, owner, purpose, audience, bind, parent, "
                         "reason, state, peer, address, scope, generation, uses, "
                         "max_uses, running, concurrency, depth, created, not_before, "
                         "expires, used, retires, revoked, renewable",
                         text);
    WD_TRY(read_value(filter, t, text + length + op_length, err));
    filter->n_terms++;
    return WD_OK;
}

/* Cuts the next term out of *at, in place; NULL at the end. Quotes hold spaces together,
 * and are dropped. False: a quote is not closed. */
static bool next_term(char **at, char **ret_term)
{
    char *from = *at + strspn(*at, " \t\n");
    char *to = from;
    bool quoted = false;
    *ret_term = *from != '\0' ? from : NULL;
    while (*from != '\0' && (quoted || strchr(" \t\n", *from) == NULL)) {
        if (*from == '"')
            quoted = !quoted;
        else
            *to++ = *from;
        from++;
    }
    *at = *from != '\0' ? from + 1 : from;
    *to = '\0';
    return !quoted;
}

wd_status wd_token_filter_parse(const char *text, int64_t now_ms,
                                wd_token_filter **ret_filter, wd_error *err)
{
    if (strnlen(text, WD_TOKEN_FILTER_BYTES + 1) > WD_TOKEN_FILTER_BYTES)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "filter: at most %u bytes",
                         WD_TOKEN_FILTER_BYTES);
    WD_AUTO(wd_token_filter) *filter = calloc(1, sizeof(*filter));
    if (filter != NULL)
        filter->text = strdup(text);
    if (filter == NULL || filter->text == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a filter");
    filter->now_ms = now_ms;
    char *at = filter->text;
    for (;;) {
        char *word = NULL;
        if (!next_term(&at, &word))
            return wd_refuse(err, WD_REASON_FIELD_INVALID,
                             "filter: a quote is not closed");
        if (word == NULL)
            break;
        WD_TRY(read_term(filter, word, err));
    }
    *ret_filter = WD_STEAL(filter);
    return WD_OK;
}

void wd_token_filter_free(wd_token_filter *filter)
{
    if (filter == NULL)
        return;
    free(filter->text);
    free(filter);
}

/* --- matching --------------------------------------------------------------------- */

/* One of the alternatives, parted by commas, matches. */
static bool text_matches(const char *value, const char *text)
{
    char one[WD_TOKEN_FILTER_BYTES + 1];
    for (;;) {
        size_t length = strcspn(value, ",");
        (void)snprintf(one, sizeof(one), "%.*s", (int)length, value);
        if (fnmatch(one, text, FNM_NOESCAPE) == 0)
            return true;
        if (value[length] == '\0')
            return false;
        value += length + 1;
    }
}

static bool scope_matches(const char *value, const wd_token *token)
{
    for (size_t i = 0; i < token->n_scopes; i++) {
        if (text_matches(value, token->scopes[i]))
            return true;
    }
    return false;
}

static bool number_matches(const term *t, int64_t number)
{
    switch (t->op) {
    case OP_EQ:
        return number == t->number;
    case OP_NE:
        return number != t->number;
    case OP_LT:
        return number < t->number;
    case OP_LE:
        return number <= t->number;
    case OP_GT:
        return number > t->number;
    case OP_GE:
        return number >= t->number;
    }
    return false;
}

static bool term_matches(const wd_token_filter *filter, const term *t,
                         const wd_token *token)
{
    char buffer[BUFFER_BYTES];
    if (t->field->number != NULL)
        return number_matches(t, t->field->number(token));
    const looking at = {token, filter->now_ms, buffer};
    bool equal = t->field->text == NULL ? scope_matches(t->value, token)
                                        : text_matches(t->value, t->field->text(&at));
    return equal == (t->op == OP_EQ);
}

bool wd_token_filter_match(const wd_token_filter *filter, const wd_token *token)
{
    for (size_t i = 0; i < filter->n_terms; i++) {
        if (!term_matches(filter, &filter->terms[i], token))
            return false;
    }
    return true;
}
