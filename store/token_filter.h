/* token_filter.h - which tokens: an expression of terms that must all hold.
 *
 *     owner=ann state=active,retiring scope=observe:* used<-30d "purpose=the big run"
 *
 * A term is FIELD OP VALUE, without spaces unless it is quoted. Text fields know = and !=,
 * with globs and with commas between alternatives; numbers and times also <, <=, >, >=. A
 * time is YYYY-MM-DD, YYYY-MM-DDTHH:MM:SSZ, Unix milliseconds, or, from now, +12h or -30d
 * (ms, s, m, h, d, w).
 *
 * Threads: any; a filter never changes.
 * Source:  docs/tokens.md, "Filters". */
#ifndef WD_STORE_TOKEN_FILTER_H
#define WD_STORE_TOKEN_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/c/cleanup.h"
#include "proto/c/status.h"
#include "store/tokens.h"

#define WD_TOKEN_FILTER_BYTES 1024U
#define WD_TOKEN_FILTER_TERMS 32U

typedef struct wd_token_filter wd_token_filter;

/* "": all tokens pass.
 * Errors: INVALID_ARGUMENT FIELD_INVALID: names the term, what is wrong, what there is */
WD_MUST_USE wd_status wd_token_filter_parse(const char *text, int64_t now_ms,
                                            wd_token_filter **ret_filter,
                                            wd_error *err);
void wd_token_filter_free(wd_token_filter *filter); /* NULL is fine */
WD_DEFINE_AUTO(wd_token_filter, wd_token_filter_free)

/* Whether the token passes, at the time at which the filter was made. */
bool wd_token_filter_match(const wd_token_filter *filter, const wd_token *token);

#endif
