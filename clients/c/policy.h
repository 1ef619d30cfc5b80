/* policy.h - the profile's `policy` file: which gates this client trusts.
 *
 *     adopt own|namespace|never    gate GLOB    image sha256:HEX    pool NAME
 *
 * a line each; '#' begins a comment. Where a `gate` line stands and no `adopt` line, only
 * the named gates pass: a stranger of the same owner has to be let in by `adopt own`.
 *
 * Threads: any, after parsing.  Owns: its lines.  Source: docs/security.md. */
#ifndef WD_CLIENT_POLICY_H
#define WD_CLIENT_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/c/status.h"

#define WD_POLICY_LINES 256U

typedef enum wd_adopt {
    WD_ADOPT_OWN,       /* creator and namespace are mine */
    WD_ADOPT_NAMESPACE, /* namespace is mine */
    WD_ADOPT_NEVER,     /* only gates that a `gate` line names */
} wd_adopt;

typedef enum wd_policy_word {
    WD_POLICY_ADOPT,
    WD_POLICY_GATE,
    WD_POLICY_IMAGE,
    WD_POLICY_POOL,
} wd_policy_word;

typedef struct wd_policy {
    wd_adopt adopt;
    struct {
        wd_policy_word word;
        const char *value; /* within `text` */
    } lines[WD_POLICY_LINES];
    size_t n;
    char *text; /* owned */
} wd_policy;

/* `text` NULL: there is no such file, all defaults.
 * Errors: INVALID_ARGUMENT with the number of the line, what is wrong, what may stand
 *         there; RESOURCE_EXHAUSTED. */
WD_MUST_USE wd_status wd_policy_parse(const char *text, wd_policy *ret, wd_error *err);
void wd_policy_done(wd_policy *policy);

/* Whether a `gate` line names this gate. */
bool wd_policy_names(const wd_policy *policy, const char *uri);

/* Whether lines of `word` stand there, and none of them is `value` (NULL: absent). */
bool wd_policy_forbids(const wd_policy *policy, wd_policy_word word, const char *value);

/* The values of the lines of `word`, " or " between them; false: there are none. */
bool wd_policy_values(const wd_policy *policy, wd_policy_word word, char *ret_text,
                      size_t size);

/* `*` stands for any part of one path segment, `**` for anything, slashes too. */
bool wd_uri_glob(const char *glob, const char *uri);

/* Whether there is a gate's SPIFFE id that the glob matches: else a line with it would
 * be one that never holds. */
bool wd_gate_glob_ok(const char *glob);

#endif
