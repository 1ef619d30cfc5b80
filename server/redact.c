#include "server/redact.h"

#include <string.h>
#include <strings.h>

#define TOKEN_KINDS "tawj"
#define TOKEN_HEAD  15U /* "wdt1_" and the id: what may be told */
#define TOKEN_CHARS 64U

typedef struct scan {
    const char *kept; /* from here on nothing has been put yet */
    const char *at, *end;
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
    return done;
}

/* --- tokens ------------------------------------------------------------------------------- */

/* How many characters a token takes here; what runs on behind it goes with it. 0: none. */
static size_t token_here(const scan *s)
{
    size_t left = (size_t)(s->end - s->at);
    if (left < TOKEN_CHARS || s->at[0] != 'w' || s->at[1] != 'd' || s->at[2] == '\0' ||
        strchr(TOKEN_KINDS, s->at[2]) == NULL || s->at[3] != '1' || s->at[4] != '_')
        return 0;
    size_t size = 5;
    while (size < left && is_alnum(s->at[size]))
        size++;
    return size >= TOKEN_CHARS ? size : 0;
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

static const char *word_end(const scan *s)
{
    const char *at = s->at;
    while (at < s->end && is_word(*at))
        at++;
    return at;
}

/* At the start of a word: what is said of it is taken out, where it is a name. */
static bool take_word(scan *s)
{
    const char *behind = word_end(s);
    const wd_span word = {(const uint8_t *)s->at, (size_t)(behind - s->at)};
    const char *mark = skip(behind, s->end, "\\\"' \t]");
    bool said = mark < s->end && (*mark == ':' || *mark == '=');
    if (said && wd_secret_named(s->names, word)) {
        const char *start = skip(mark, s->end, ":= \t");
        const char *stop = value_end(&start, s->end);
        return take_out(s, start, stop);
    }
    s->at++;
    return true;
}

/* --- all of it ---------------------------------------------------------------------------- */

bool wd_redact(wd_span text, const wd_secret_names *names, wd_buffer *out)
{
    const char *start = (const char *)text.data;
    scan s = {start, start, start + text.size, names, out};
    while (s.at < s.end) {
        bool done = true;
        bool starts = is_word(*s.at) && (s.at == start || !is_word(s.at[-1]));
        size_t token = token_here(&s);
        if (token != 0)
            done = take_out(&s, s.at + TOKEN_HEAD, s.at + token);
        else if (starts)
            done = take_word(&s);
        else
            s.at++;
        if (!done)
            return false;
    }
    return wd_buffer_append(out, s.kept, (size_t)(s.end - s.kept));
}
