/* token_spend.h - what a call takes from its token: a use, a place, a part of the rate.
 *
 * All is taken from the family and from the families above it: what was issued with a
 * token can never do more than that token may.
 *
 * A use is only given when the database has given it away before (wd_tokens_reserve): a
 * crash loses those that were reserved and not used, and never gives one twice. When the
 * gate stops well, they are given back.
 *
 * Threads: any. Nothing here waits. */
#ifndef WD_STORE_TOKEN_SPEND_H
#define WD_STORE_TOKEN_SPEND_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/c/status.h"
#include "store/tokens.h"

/* Takes a place among the calls under way, and a call from the rate. Give the place back
 * with wd_token_leave.
 * Errors: RESOURCE_EXHAUSTED QUOTA: names the token, the bound and how many there are;
 *         with a retry-after. Nothing is taken then. */
WD_MUST_USE wd_status wd_token_enter(wd_token *token, int64_t mono_ns, wd_error *err);
void wd_token_leave(wd_token *token);

/* Takes a use. *ret_wait: none is reserved; have wd_tokens_reserve run and try again.
 * Errors: RESOURCE_EXHAUSTED TOKEN_USES_SPENT */
WD_MUST_USE wd_status wd_token_use(wd_token *token, bool *ret_wait, wd_error *err);

/* A call waits for uses, or waits no more: so many are reserved at least. */
void wd_token_wait(wd_token *token);
void wd_token_wait_end(wd_token *token);

/* Whether a call with this token takes anything that is counted in the database: uses of
 * its line, or the end of an overlap by the first use. */
bool wd_token_is_counted(const wd_token *token);

/* Whether a use of it has to end an overlap that is open: wd_tokens_retire. */
bool wd_token_ends_overlap(const wd_token *token, int64_t now_ms);

/* The same questions for `check`: without taking. False: *err says why. */
bool wd_token_uses_left(const wd_token *token, wd_error *err);
bool wd_token_rate_left(const wd_token *token, int64_t mono_ns, wd_error *err);
bool wd_token_room_left(const wd_token *token, wd_error *err);

#endif
