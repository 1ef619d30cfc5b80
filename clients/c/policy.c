#include "clients/c/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/c/limits.h"
#include "proto/c/sha256.h"
#include "proto/c/utf8.h"
#include "proto/tls/identity.h"
#include "proto/tls/spiffe.h"

static const char *const words[] = {"adopt", "gate", "image", "pool"};
static const char *const adopts[] = {"own", "namespace", "never"};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- globs ---------------------------------------------------------------------------- */

/* What a glob is laid beside: a URI, or the form that gates' ids have. In a form a place
 * may be for one of several characters. */
enum {
    PLACE_FIRST = 1, /* of a segment: a letter or a digit */
    PLACE_MAYBE = 2, /* of a segment, if it is that long */
    PLACES = 512,    /* that a form may have */
};
_Static_assert(5 * WD_SPIFFE_SEGMENT_BYTES + 64 < PLACES, "the longest form fits");

static bool place_takes(char place, char c)
{
    bool first = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (place == PLACE_FIRST)
        return first;
    if (place == PLACE_MAYBE)
        return first || c == '.' || c == '_' || c == '-';
    return place == c;
}

/* Which beginnings of the places the glob's first part matches: reach[i] for i of them. */
static void step_star(bool *reach, const char *places, size_t n, bool deep)
{
    for (size_t i = 1; i <= n; i++)
        if (reach[i - 1] && (deep || places[i - 1] != '/'))
            reach[i] = true;
}

static void step_char(bool *reach, const char *places, size_t n, char c)
{
    for (size_t i = n; i > 0; i--)
        reach[i] = reach[i - 1] && place_takes(places[i - 1], c);
    reach[0] = false;
    for (size_t i = 1; i <= n; i++)
        if (reach[i - 1] && places[i - 1] == PLACE_MAYBE)
            reach[i] = true;
}

/* `reach` has n + 1 entries, all false. */
static bool glob_meets(const char *glob, const char *places, size_t n, bool *reach)
{
    reach[0] = true;
    for (const char *at = glob; *at != '\0';) {
        size_t stars = strspn(at, "*");
        if (stars > 0)
            step_star(reach, places, n, stars > 1);
        else
            step_char(reach, places, n, *at);
        at += stars > 0 ? stars : 1;
    }
    return reach[n];
}

bool wd_uri_glob(const char *glob, const char *uri)
{
    bool reach[WD_URI_BYTES + 1] = {false};
    size_t n = strnlen(uri, WD_URI_BYTES + 1);
    return n <= WD_URI_BYTES && glob_meets(glob, uri, n, reach);
}

/* A form as text, where '$' stands for a segment, into places; their number. */
static size_t spread(const char *form, char ret_places[PLACES])
{
    size_t n = 0;
    for (; *form != '\0'; form++) {
        ret_places[n++] = (char)(*form == '$' ? PLACE_FIRST : *form);
        for (size_t i = 2; *form == '$' && i < WD_SPIFFE_SEGMENT_BYTES; i++)
            ret_places[n++] = PLACE_MAYBE;
    }
    return n;
}

bool wd_gate_glob_ok(const char *glob)
{
    static const char *const forms[] = {"spiffe://$/ns/$/owner/$/gate/$",
                                        "spiffe://$/ns/$/owner/$/pool/$/gate/$"};
    if (strnlen(glob, WD_URI_BYTES + 1) > WD_URI_BYTES)
        return false;
    for (size_t i = 0; i < COUNT(forms); i++) {
        char places[PLACES];
        bool reach[PLACES + 1] = {false};
        if (glob_meets(glob, places, spread(forms[i], places), reach))
            return true;
    }
    return false;
}

/* --- reading the file ------------------------------------------------------------------ */

static bool find_word(const char *const *names, size_t n, const char *text,
                      unsigned *ret)
{
    for (unsigned i = 0; i < n; i++) {
        if (strcmp(names[i], text) == 0) {
            *ret = i;
            return true;
        }
    }
    return false;
}

static bool is_image(const char *value)
{
    static const char scheme[] = "sha256:";
    const size_t size = sizeof(scheme) - 1;
    return strncmp(value, scheme, size) == 0 &&
           strspn(value + size, "0123456789abcdef") == WD_SHA256_HEX_BYTES - 1 &&
           value[size + WD_SHA256_HEX_BYTES - 1] == '\0';
}

/* As the fact of a certificate can be (proto/tls/identity.h). */
static bool is_pool(const char *value)
{
    size_t size = 0;
    for (; value[size] != '\0'; size++)
        if (value[size] <= ' ' || value[size] > '~')
            return false;
    return size < WD_FACT_BYTES;
}

/* A value that no gate can have would be a rule that never holds, or always forbids. */
static wd_status check_value(wd_policy_word word, const char *value, wd_error *err)
{
    if (word == WD_POLICY_GATE && !wd_gate_glob_ok(value))
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "gate %.200s: no gate's SPIFFE id is so; write "
                       "spiffe://DOMAIN/ns/NS/owner/OWNER[/pool/POOL]/gate/ID in lower "
                       "case, `*` for any part of a segment, `**` for anything",
                       value);
    if (word == WD_POLICY_IMAGE && !is_image(value))
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "image %.100s: no image's digest is so; write sha256: and its "
                       "64 hexadecimal digits in lower case",
                       value);
    if (word == WD_POLICY_POOL && !is_pool(value))
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "pool %.100s: no pool is called so; write 1 to 512 printable "
                       "ASCII characters",
                       value);
    return WD_OK;
}

static wd_status take_adopt(wd_policy *policy, const char *value, bool *adopted,
                            wd_error *err)
{
    unsigned which = 0;
    if (!find_word(adopts, COUNT(adopts), value, &which))
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "adopt %.64s; it is own, namespace or never", value);
    if (*adopted)
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "more than one `adopt` line; keep the one you mean");
    *adopted = true;
    policy->adopt = (wd_adopt)which;
    return WD_OK;
}

static wd_status take_line(wd_policy *policy, char *line, bool *adopted, wd_error *err)
{
    char *rest = NULL;
    unsigned word = 0;
    line[strcspn(line, "#")] = '\0';
    const char *name = strtok_r(line, " \t\r", &rest);
    const char *value = name != NULL ? strtok_r(NULL, " \t\r", &rest) : NULL;
    if (name == NULL)
        return WD_OK;
    if (value == NULL || strtok_r(NULL, " \t\r", &rest) != NULL ||
        !find_word(words, COUNT(words), name, &word))
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "it begins with %.64s; a line is `adopt own|namespace|never`, "
                       "`gate GLOB`, `image sha256:HEX` or `pool NAME`",
                       name);
    if (word == WD_POLICY_ADOPT)
        return take_adopt(policy, value, adopted, err);
    WD_TRY(check_value((wd_policy_word)word, value, err));
    if (policy->n == WD_POLICY_LINES)
        return wd_fail(err, WD_INVALID_ARGUMENT, "more than %u lines", WD_POLICY_LINES);
    policy->lines[policy->n].word = (wd_policy_word)word;
    policy->lines[policy->n++].value = value;
    return WD_OK;
}

static wd_status take_lines(wd_policy *policy, bool *adopted, wd_error *err)
{
    size_t number = 0;
    for (char *line = policy->text; line != NULL;) {
        char *end = strchr(line, '\n');
        wd_error why = {0};
        if (end != NULL)
            *end = '\0';
        number++;
        if (take_line(policy, line, adopted, &why) != WD_OK)
            return wd_fail(err, WD_INVALID_ARGUMENT, "line %zu: %s", number, why.msg);
        line = end != NULL ? end + 1 : NULL;
    }
    return WD_OK;
}

wd_status wd_policy_parse(const char *text, wd_policy *ret, wd_error *err)
{
    bool adopted = false;
    *ret = (wd_policy){.adopt = WD_ADOPT_OWN};
    if (text == NULL)
        return WD_OK;
    if (!wd_utf8_valid((wd_span){(const uint8_t *)text, strlen(text)}, NULL))
        return wd_fail(err, WD_INVALID_ARGUMENT, "not UTF-8 text");
    ret->text = strdup(text);
    if (ret->text == NULL)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for the policy");
    wd_status status = take_lines(ret, &adopted, err);
    if (status != WD_OK)
        wd_policy_done(ret);
    else if (!adopted && wd_policy_forbids(ret, WD_POLICY_GATE, NULL))
        ret->adopt = WD_ADOPT_NEVER;
    return status;
}

void wd_policy_done(wd_policy *policy)
{
    free(policy->text);
    policy->text = NULL;
    policy->n = 0;
}

/* --- asking it ------------------------------------------------------------------------- */

bool wd_policy_names(const wd_policy *policy, const char *uri)
{
    for (size_t i = 0; i < policy->n; i++)
        if (policy->lines[i].word == WD_POLICY_GATE &&
            wd_uri_glob(policy->lines[i].value, uri))
            return true;
    return false;
}

bool wd_policy_forbids(const wd_policy *policy, wd_policy_word word, const char *value)
{
    bool any = false;
    for (size_t i = 0; i < policy->n; i++) {
        if (policy->lines[i].word != word)
            continue;
        any = true;
        if (value != NULL && strcmp(policy->lines[i].value, value) == 0)
            return false;
    }
    return any;
}

bool wd_policy_values(const wd_policy *policy, wd_policy_word word, char *ret_text,
                      size_t size)
{
    size_t used = 0;
    bool any = false;
    ret_text[0] = '\0';
    for (size_t i = 0; i < policy->n; i++) {
        if (policy->lines[i].word != word)
            continue;
        if (used < size)
            (void)snprintf(ret_text + used, size - used, "%s%s", any ? " or " : "",
                           policy->lines[i].value);
        used += strlen(ret_text + (used < size ? used : 0));
        any = true;
    }
    return any;
}
