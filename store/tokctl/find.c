#include "store/tokctl/find.h"

#include <ctype.h>
#include <string.h>

#include "proto/c/sha256.h"

/* What makes a word, as \b has it. */
static bool is_word(char c)
{
    return isalnum((unsigned char)c) != 0 || c == '_';
}

static size_t newlines(const char *text, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++)
        n += text[i] == '\n' ? 1 : 0;
    return n;
}

/* A token at `at` that ends where a word does. `whole`: what follows `size` is known. */
static bool token_at(const char *text, size_t at, size_t size, wd_token_text *ret)
{
    wd_token_name name;
    if (size - at < WD_TOKEN_CHARS || memcmp(text + at, "wd", 2) != 0 ||
        (at > 0 && is_word(text[at - 1])) ||
        (size - at > WD_TOKEN_CHARS && is_word(text[at + WD_TOKEN_CHARS])))
        return false;
    memcpy(ret->chars, text + at, WD_TOKEN_CHARS);
    ret->chars[WD_TOKEN_CHARS] = '\0';
    return wd_token_parse(ret->chars, &name);
}

/* Tokens that begin in text[from..until). */
static bool search(wd_finder *finder, const char *text, size_t size, size_t from,
                   size_t until)
{
    wd_token_text token;
    size_t counted = 0;
    size_t line = finder->line + 1;
    bool more = true;
    for (const char *at = text + from; more;) {
        at = memchr(at, 'w', (size_t)(text + until - at));
        if (at == NULL)
            break;
        const size_t offset = (size_t)(at - text);
        if (token_at(text, offset, size, &token)) {
            line += newlines(text + counted, offset - counted);
            counted = offset;
            more = finder->found(finder->arg, &token, line);
        }
        at++;
    }
    wd_wipe(&token, sizeof(token));
    return more;
}

/* Room for what was kept and as much again; pieces are taken in parts of that size. */
enum { WINDOW = 64 << 10 };

static bool feed_part(wd_finder *finder, const char *data, size_t size)
{
    char window[WINDOW + sizeof(finder->kept)];
    const size_t before = finder->n_kept > WD_TOKEN_CHARS ? 1 : 0;
    memcpy(window, finder->kept, finder->n_kept);
    memcpy(window + finder->n_kept, data, size);
    const size_t have = finder->n_kept + size;
    /* What begins in the last 64 bytes may go on in the next piece. One byte before it
     * stays too: it tells whether a word begins there. */
    const size_t until = have > WD_TOKEN_CHARS ? have - WD_TOKEN_CHARS : 0;
    bool more = until <= before || search(finder, window, have, before, until);
    const size_t keep_from = until > 0 ? until - 1 : 0;
    finder->line += newlines(window, keep_from);
    finder->n_kept = have - keep_from;
    memcpy(finder->kept, window + keep_from, finder->n_kept);
    wd_wipe(window, have);
    return more;
}

bool wd_finder_feed(wd_finder *finder, wd_span piece)
{
    while (piece.size > 0) {
        const size_t size = piece.size < WINDOW ? piece.size : WINDOW;
        if (!feed_part(finder, (const char *)piece.data, size))
            return false;
        piece = wd_span_skip(piece, size);
    }
    return true;
}

bool wd_finder_end(wd_finder *finder)
{
    const size_t before = finder->n_kept > WD_TOKEN_CHARS ? 1 : 0;
    bool more = finder->n_kept < WD_TOKEN_CHARS ||
                search(finder, finder->kept, finder->n_kept, before, finder->n_kept);
    wd_wipe(finder->kept, sizeof(finder->kept));
    finder->n_kept = 0;
    return more;
}
