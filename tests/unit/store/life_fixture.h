/* life_fixture.h - changing tokens in a test as the gate's services do.
 *
 * Threads: the test's. Each change is a commit of its own; the test fails on a failure
 * that it did not ask for. */
#ifndef WD_TESTS_LIFE_FIXTURE_H
#define WD_TESTS_LIFE_FIXTURE_H

#include "store/token_table.h"
#include "tests/support/store_fixture.h"

#define TRAINER "spiffe://warded.local/ns/default/owner/ann/client/trainer"
#define THIEF   "spiffe://warded.local/ns/default/owner/ann/client/thief"
#define GATE    "spiffe://warded.local/ns/default/owner/ann/gate/one"

/* Name "trainer", scopes observe:* and env:*, bound to TRAINER. */
wd_token_spec wd_life_spec(void);

/* By the table's own: borrowed, never leaves it. */
wd_token *wd_life_token(wd_fixture *f, const char *text);

wd_token_text wd_life_issue(wd_fixture *f, const wd_token_spec *spec);

/* WD_OK, or the failure with its reason in *ret_reason (may be NULL). ret_text: of what
 * was made; only then set. Of `id` the first ten characters count. */
wd_status wd_life_rotate(wd_fixture *f, const char *id, const wd_token_next *next,
                         wd_token_text *ret_text, wd_reason *ret_reason);
void wd_life_force(wd_fixture *f, const char *id, wd_token_text *ret_text);
wd_status wd_life_retire(wd_fixture *f, const char *id, wd_reason *ret_reason);
wd_status wd_life_renew(wd_fixture *f, const char *id, int64_t expires_ms,
                        wd_reason *ret_reason);
wd_status wd_life_reserve(wd_fixture *f, const char *id);
wd_status wd_life_unwrap(wd_fixture *f, const char *id, wd_token_text *ret_text,
                         wd_reason *ret_reason);
void wd_life_revoke(wd_fixture *f, const char *id);

/* What the check says to TRAINER: WD_REASON_NONE when it passes. */
wd_reason wd_life_check(wd_fixture *f, const char *text);
wd_reason wd_life_check_as(wd_fixture *f, const char *text, const char *peer);

/* Closes and opens again: what the trail says is compared with the table then. */
void wd_life_restart(wd_fixture *f);

#endif
