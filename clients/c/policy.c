#include "clients/c/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/c/limits.h"
#include "proto/c/utf8.h"
#include "proto/tls/spiffe.h"

static const char *const words[] = {"adopt", "gate", "image", "pool"};
static const char *const adopts[] = {"own", "namespace", "never"};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- globs ---------------------------------------------------------------------------- */

/* Which prefixes of the URI the glob's first part matches: reach[i] for i bytes. */
static void step_star(bool *reach, const char *uri, size_t n, bool deep)
{
    for (size_t i = 1; i <= n; i++)
        if (reach[i - 1] && (deep || uri[i - 1] != '/'))
            reach[i] = true;
}

static void step_char(bool *reach, const char *uri, size_t n, char c)
{
    for (size_t i = n; i > 0; i--)
        reach[i] = reach[i - 1] && uri[i - 1] == c;
    reach[0] = false;
}

bool wd_uri_glob(const char *glob, const char *uri)
{
    bool reach[WD_URI_BYTES + 1] = {true};
    size_t n = strnlen(uri, WD_URI_BYTES + 1);
    if (n > WD_URI_BYTES)
        return false;
    for (const char *at = glob; *at != '\0';) {
        size_t stars = strspn(at, "*");
        if (stars > 0)
            step_star(reach, uri, n, stars > 1);
        else
            step_char(reach, uri, n, *at);
        at += stars > 0 ? stars : 1;
    }
    return reach[n];
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

static bool is_gate(const char *value)
{
    wd_spiffe spiffe;
    wd_error err;
    return strchr(value, '*') != NULL ||
           (wd_spiffe_parse(value, strlen(value), &spiffe, &err) == WD_OK &&
            spiffe.kind == WD_SPIFFE_GATE);
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
                       "a line is `adopt own|namespace|never`, `gate GLOB`, `image "
                       "sha256:HEX` or `pool NAME`");
    if (word == WD_POLICY_ADOPT)
        return take_adopt(policy, value, adopted, err);
    if (word == WD_POLICY_GATE && !is_gate(value))
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "%.200s is not a gate's SPIFFE id or a glob", value);
    if (word == WD_POLICY_IMAGE && strncmp(value, "sha256:", 7) != 0)
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "image %.100s; it starts with sha256:", value);
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
