/* audit_rows.h - what a call looks like in the audit trail.
 *
 * Threads: the call's owner.  Owns: nothing: rows borrow from the call.
 * Source:  docs/security.md, "The record". */
#ifndef WD_SERVER_AUDIT_ROWS_H
#define WD_SERVER_AUDIT_ROWS_H

#include "server/call.h"
#include "store/audit.h"

#define WD_DETAIL_BYTES 1024U

/* What the rows borrow that the call does not hold. */
typedef struct wd_row_text {
    char token_id[WD_TOKEN_ID_CHARS + 1]; /* claimed, when the check failed */
    char detail[WD_DETAIL_BYTES];
    char trace_id[33];
} wd_row_text;

/* All that is known of the call itself; event and outcome are left to the caller. */
void wd_rows_base(const wd_call *call, wd_row_text *text, wd_audit_row *ret_row);

/* Who called, for the rows that tell what became of a token: the rest is the store's. */
wd_audit_row wd_rows_by(const wd_call *call);

/* The event of a refusal: "auth", "authz.deny", or "call.refused". */
const char *wd_rows_refusal_event(const wd_error *error);

/* The row of a call that was refused before it began. */
void wd_rows_refusal(const wd_call *call, wd_row_text *text, wd_audit_row *ret_row);

/* Put one pair's facts into a base row. */
void wd_rows_pair(const wd_pair *pair, wd_audit_row *row);

/* "ok", "refused" or "failed": refused is what never ran. */
const char *wd_rows_outcome(wd_status status);

/* {"KEY":"TEXT"} with TEXT escaped, and cut where it does not fit; at least 64 bytes. */
void wd_rows_detail(char *out, size_t size, const char *key, const char *text);

#endif
