#include "server/redact.h"

#include <string.h>
#include <strings.h>

#define TOKEN_KINDS  "tawj"
#define TOKEN_PREFIX 5U  /* "wdt1_" */
#define TOKEN_HEAD   15U /* with the id: what may be told */
#define TOKEN_CHARS  64U
#define MOST_SLASHES 8U   /* of one escape: a text in a text in a text */
#define TAIL_CHARS   128U /* of a word: no name is longer */

typedef struct scan {
    const char *kept; /* from here on nothing has been put yet */
    const char *at, *end;
    bool in_word; /* what is before `at` belongs to a word */
    const wd_secret_names *names;
    wd_buffer *out;
} scan;

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool is_word(char c)
{
    return is_alnum(c) || c == '_' || c == '-';
}

/* Puts what there is before `start`, and something in place of what is before `stop`. */
static bool take_out(scan *s, const char *start, const char *stop)
{
    bool done = wd_buffer_append(s->out, s->kept, (size_t)(start - s->kept)) &&
                wd_buffer_append(s->out, WD_REDACTED, sizeof(WD_REDACTED) - 1);
    s->kept = stop;
    s->at = stop;
    s->in_word = false;
    return done;
}

/* --- characters --------------------------------------------------------------------------- */

static bool hex_value(const char *at, size_t digits, unsigned *ret)
{
    *ret = 0;
    for (size_t i = 0; i < digits; i++) {
        char c = at[i];
        bool decimal = c >= '0' && c <= '9';
        char letter = (char)(c | 0x20);
        if (!decimal && !(letter >= 'a' && letter <= 'f'))
            return false;
        *ret = *ret << 4 | (unsigned)(decimal ? c - '0' : letter - 'a' + 10);
    }
    return true;
}

/* The character here and how many bytes it takes: itself, or of ASCII as JSON and languages
 * escape it, \u0061 and \x61, behind the backslashes that it has in a text in a text, or
 * as URLs do, %61. */
static size_t char_here(const char *at, const char *end, char *ret)
{
    const char *mark = at;
    unsigned value = 0;
    while (mark < end && *mark == '\\' && (size_t)(mark - at) < MOST_SLASHES)
        mark++;
    bool slashes = mark > at;
    size_t digits = mark == end                ? 0
                    : slashes && *mark == 'u'  ? 4
                    : slashes && *mark == 'x'  ? 2
                    : !slashes && *mark == '%' ? 2
                                               : 0;
    if (digits > 0 && (size_t)(end - mark) > digits &&
        hex_value(mark + 1, digits, &value) && value > 0 && value < 0x80) {
        *ret = (char)value;
        return (size_t)(mark - at) + 1 + digits;
    }
    *ret = *at;
    return 1;
}

/* --- tokens ------------------------------------------------------------------------------- */

static bool is_of_token(size_t number, char c)
{
    static const char prefix[] = "wd?1_";
    if (number >= TOKEN_PREFIX)
        return is_alnum(c);
    if (prefix[number] == '?')
        return c != '\0' && strchr(TOKEN_KINDS, c) != NULL;
    return c == prefix[number];
}

/* Where a token ends that begins here, with what runs on behind it, and where in it the
 * secret begins. NULL: there is none. */
static const char *token_end(const scan *s, const char **ret_secret)
{
    const char *at = s->at;
    size_t n = 0;
    for (;; n++) {
        char c = '\0';
        size_t size = at < s->end ? char_here(at, s->end, &c) : 0;
        if (n == TOKEN_HEAD)
            *ret_secret = at;
        if (size == 0 || !is_of_token(n, c))
            return n >= TOKEN_CHARS ? at : NULL;
        at += size;
    }
}

/* --- names -------------------------------------------------------------------------------- */

bool wd_secret_named(const wd_secret_names *names, wd_span word)
{
    for (size_t i = 0; i < names->n; i++) {
        size_t size = strlen(names->list[i]);
        if (size <= word.size &&
            strncasecmp(names->list[i], (const char *)word.data + word.size - size,
                        size) == 0)
            return true;
    }
    return false;
}

static const char *skip(const char *at, const char *end, const char *what)
{
    while (at < end && *at != '\0' && strchr(what, *at) != NULL)
        at++;
    return at;
}

/* The quotes that close what opens at `at`. They may be escaped themselves: those that
 * close have as many backslashes before them. */
static const char *closing_quotes(const char *at, const char *end, size_t slashes)
{
    char quote = *at++;
    size_t before = 0;
    for (; at < end; at++) {
        if (*at == quote && before == slashes)
            return at - slashes;
        before = *at == '\\' ? before + 1 : 0;
    }
    return end;
}

/* Where the value ends that begins at *start, which is moved behind what opens it. */
static const char *value_end(const char **start, const char *end)
{
    const char *open = skip(*start, end, "\\");
    if (open < end && (*open == '"' || *open == '\'')) {
        size_t slashes = (size_t)(open - *start);
        *start = open + 1;
        return closing_quotes(open, end, slashes);
    }
    const char *at = *start;
    while (at < end && *at != '\n' && *at != '\r')
        at++;
    return at;
}

/* A word's last characters, as they are meant. */
typedef struct tail {
    char chars[TAIL_CHARS];
    size_t size;
} tail;

static void tail_add(tail *t, char c)
{
    if (t->size == TAIL_CHARS)
        memmove(t->chars, t->chars + 1, --t->size);
    t->chars[t->size++] = c;
}

static const char *word_end(const scan *s, tail *ret_tail)
{
    const char *at = s->at;
    ret_tail->size = 0;
    while (at < s->end) {
        char c = '\0';
        size_t size = char_here(at, s->end, &c);
        if (!is_word(c))
            break;
        tail_add(ret_tail, c);
        at += size;
    }
    return at;
}

/* At the start of a word: what is said of it is taken out, where it is a name. Else the
 * word's first character, of `size` bytes, has been looked at. */
static bool take_word(scan *s, size_t size)
{
    tail word;
    char c = '\0';
    const char *behind = word_end(s, &word);
    const wd_span name = {(const uint8_t *)word.chars, word.size};
    const char *mark = skip(behind, s->end, "\\\"' \t]");
    size_t mark_size = mark < s->end ? char_here(mark, s->end, &c) : 0;
    if ((c == ':' || c == '=') && wd_secret_named(s->names, name)) {
        const char *start = skip(mark + mark_size, s->end, ":= \t");
        const char *stop = value_end(&start, s->end);
        return take_out(s, start, stop);
    }
    s->at += size;
    s->in_word = true;
    return true;
}

/* --- all of it ---------------------------------------------------------------------------- */

bool wd_redact(wd_span text, const wd_secret_names *names, wd_buffer *out)
{
    const char *start = (const char *)text.data;
    scan s = {start, start, start + text.size, false, names, out};
    while (s.at < s.end) {
        bool done = true;
        char c = '\0';
        size_t size = char_here(s.at, s.end, &c);
        const char *secret = NULL;
        const char *end = token_end(&s, &secret);
        if (end != NULL) {
            done = take_out(&s, secret, end);
        } else if (is_word(c) && !s.in_word) {
            done = take_word(&s, size);
        } else {
            s.at += size;
            s.in_word = is_word(c);
        }
        if (!done)
            return false;
    }
    return wd_buffer_append(out, s.kept, (size_t)(s.end - s.kept));
}
