/* token_life.h - the changes of a token's life, each with its rows in one commit.
 *
 * What is decided is decided on the rows of the database as the transaction sees them,
 * so that jobs of one group see each other. Memory follows after the commit, but for
 * revocations, which hold in memory first.
 *
 * Threads: wd_tokens_*: inside a job's apply (store/writer.h), so they may run twice.
 *          wd_tokens_*_now: programs without a writer thread.
 * Source:  docs/protocol.md, section 6. */
#ifndef WD_STORE_TOKEN_LIFE_H
#define WD_STORE_TOKEN_LIFE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/c/status.h"
#include "store/store.h"
#include "store/token_make.h"

struct wd_audit_row; /* store/audit.h */
struct wd_token;

#define WD_TOKEN_CHUNK 64 /* most uses reserved at a time; a crash may lose so many */

/* `by`, here and below: who asks: principal, peer, address, call id, pool of the rows. The
 * change fills in event, outcome, token, owner, family and detail. */

/* Stores a token, with its row token.issue. After the commit the table knows it.
 * Errors: FAILED_PRECONDITION CONFLICT: its parent's family holds no more
 *         UNAVAILABLE AUDIT_UNWRITABLE, here and below */
WD_MUST_USE wd_status wd_tokens_add(wd_store *store, struct wd_token *token,
                                    const struct wd_audit_row *by, wd_error *err);

/* Puts the end further off; an end that is later already stays. Row token.renew.
 * Errors: NOT_FOUND TOKEN_ID_UNKNOWN, here and below
 *         FAILED_PRECONDITION CONFLICT: it holds no more, or is not the newest */
WD_MUST_USE wd_status wd_tokens_renew(wd_store *store, const char *id,
                                      int64_t expires_ms, const struct wd_audit_row *by,
                                      wd_error *err);

typedef struct wd_token_rotation {
    struct wd_token *fresh; /* by wd_token_make_next of the newest; or a wrap */
    int64_t overlap_ms;     /* of the old one */
    bool force;             /* an open overlap ends now */
} wd_token_rotation;

/* Stores the next generation; the one before holds for the overlap. Rows token.rotate and
 * token.issue.
 * Errors: FAILED_PRECONDITION CONFLICT: an overlap is open; somebody else rotated it; the
 *         newest holds no more */
WD_MUST_USE wd_status wd_tokens_rotate(wd_store *store,
                                       const wd_token_rotation *rotation,
                                       const struct wd_audit_row *by, wd_error *err);

typedef struct wd_token_retirement {
    const char *id;                  /* any generation */
    const char *why;                 /* for the record: "asked", "first_use" */
    char old[WD_TOKEN_ID_CHARS + 1]; /* the one that is retired: filled in */
} wd_token_retirement;

/* Ends the open overlap of a family now. Row token.retire.
 * Errors: FAILED_PRECONDITION CONFLICT: no overlap is open */
WD_MUST_USE wd_status wd_tokens_retire(wd_store *store, wd_token_retirement *retirement,
                                       const struct wd_audit_row *by, wd_error *err);

/* Makes more uses of the family of `id` spendable, unless enough are. Row token.uses. */
WD_MUST_USE wd_status wd_tokens_reserve(wd_store *store, const char *id,
                                        const struct wd_audit_row *by, wd_error *err);

/* Opens a wrap: `fresh` is what comes out, by wd_token_make_unwrapped. Rows token.unwrap,
 * token.issue, and token.rotate where it is a next generation.
 * Errors: FAILED_PRECONDITION CONFLICT: as wd_tokens_rotate
 *         UNAUTHENTICATED TOKEN_RETIRED: it was opened before */
WD_MUST_USE wd_status wd_tokens_unwrap(wd_store *store, const struct wd_token *wrap,
                                       struct wd_token *fresh,
                                       const struct wd_audit_row *by, wd_error *err);

#define WD_TOKEN_WRAP_REUSED "its wrap was opened twice" /* why that is revoked */

/* It was opened again: what had come out is revoked, in memory too. Rows token.wrap_reuse
 * and token.revoke. */
WD_MUST_USE wd_status wd_tokens_wrap_reused(wd_store *store,
                                            const struct wd_token *wrap,
                                            const struct wd_audit_row *by,
                                            wd_error *err);

/* Makes a revocation durable, with its row token.revoke. Call wd_token_table_revoke first:
 * that is what holds at once. A token that is revoked already keeps its first time and
 * reason. */
WD_MUST_USE wd_status wd_tokens_revoke(wd_store *store, const char *id,
                                       const char *reason,
                                       const struct wd_audit_row *by, wd_error *err);

/* Visits the tokens that the group in work adds, which the table does not know yet. */
void wd_tokens_each_fresh(wd_store *store,
                          void (*visit)(void *arg, struct wd_token *token), void *arg);

/* --- here and now ----------------------------------------------------------------- */

/* Whom a revocation concerns, and what the record says of it. */
typedef struct wd_token_revocation {
    const char *id;
    const char *reason;    /* for people, up to WD_TOKEN_REASON_BYTES; "" */
    const char *principal; /* who takes it back: "local:<uid>" */
} wd_token_revocation;

/* `principal`: "local:<uid>". *ret_was_live: whether it was still good until now. */
WD_MUST_USE wd_status wd_tokens_issue_now(wd_store *store, const wd_token_spec *spec,
                                          const char *principal,
                                          wd_token_issued *ret_issued, wd_error *err);
WD_MUST_USE wd_status wd_tokens_revoke_now(wd_store *store,
                                           const wd_token_revocation *revocation,
                                           bool *ret_was_live, wd_error *err);

#endif
