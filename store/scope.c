#include "store/scope.h"

#include <string.h>

static bool is_area_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static bool is_object_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '.' || c == '_' || c == '-';
}

/* Length of the segment that starts at `text`: up to '/' or the end. */
static size_t segment_length(const char *text)
{
    return strcspn(text, "/");
}

static bool is_rest(const char *segment, size_t length)
{
    return length == 2 && segment[0] == '*' && segment[1] == '*';
}

static bool is_any(const char *segment, size_t length)
{
    return length == 1 && segment[0] == '*';
}

static bool segment_valid(const char *segment, size_t length)
{
    if (is_any(segment, length))
        return true;
    if (is_rest(segment, length))
        return segment[length] == '\0'; /* only as the last */
    for (size_t i = 0; i < length; i++) {
        if (!is_object_char(segment[i]))
            return false;
    }
    return length > 0;
}

static bool object_valid(const char *object)
{
    for (;;) {
        size_t length = segment_length(object);
        if (!segment_valid(object, length))
            return false;
        if (object[length] == '\0')
            return true;
        object += length + 1;
    }
}

bool wd_scope_valid(const char *scope)
{
    if (scope == NULL || strnlen(scope, WD_SCOPE_BYTES + 1) > WD_SCOPE_BYTES)
        return false;
    if (scope[0] < 'a' || scope[0] > 'z')
        return false;
    size_t area = 0;
    while (is_area_char(scope[area]))
        area++;
    return scope[area] == ':' && object_valid(scope + area + 1);
}

/* One segment of `held` against the one of `asked` at the same place. */
static bool segment_covers(const char *held, size_t held_length, const char *asked,
                           size_t asked_length)
{
    if (is_rest(asked, asked_length))
        return false; /* only `**` covers `**`, and that is decided before */
    if (is_any(held, held_length))
        return true;
    return held_length == asked_length && memcmp(held, asked, held_length) == 0;
}

static bool object_covers(const char *held, const char *asked)
{
    for (;;) {
        size_t h = segment_length(held);
        size_t a = segment_length(asked);
        if (is_rest(held, h))
            return true;
        if (!segment_covers(held, h, asked, a))
            return false;
        if (held[h] == '\0' || asked[a] == '\0')
            return held[h] == asked[a];
        held += h + 1;
        asked += a + 1;
    }
}

bool wd_scope_covers(const char *held, const char *asked)
{
    if (!wd_scope_valid(held) || !wd_scope_valid(asked))
        return false;
    size_t area = strcspn(held, ":") + 1;
    return strncmp(held, asked, area) == 0 && object_covers(held + area, asked + area);
}

bool wd_scope_of_area(const char *held, const char *area)
{
    size_t length = strlen(area);
    return wd_scope_valid(held) && strncmp(held, area, length) == 0 &&
           held[length] == ':';
}

bool wd_scopes_cover(const char *const *held, size_t n, const char *asked)
{
    for (size_t i = 0; i < n; i++) {
        if (wd_scope_covers(held[i], asked))
            return true;
    }
    return false;
}

bool wd_scopes_of_area(const char *const *held, size_t n, const char *area)
{
    for (size_t i = 0; i < n; i++) {
        if (wd_scope_of_area(held[i], area))
            return true;
    }
    return false;
}

const char *wd_scopes_missing(const char *const *held, size_t n_held,
                              const char *const *asked, size_t n_asked)
{
    for (size_t i = 0; i < n_asked; i++) {
        if (!wd_scopes_cover(held, n_held, asked[i]))
            return asked[i];
    }
    return NULL;
}
