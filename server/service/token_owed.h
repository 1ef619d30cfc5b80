/* token_owed.h - revocations that hold in this gate and are not on disk yet: written as
 * soon as the disk takes them, without anybody asking.
 *
 * A token is owed by the one Revoke that ended it in memory, so there are never more of
 * them than tokens. What is owed still when the gate stops is logged, as
 * token.revoke_lost: after a restart those tokens live again.
 *
 * Threads: a service thread's, before wd_writer_stop; the rest happens on the writer's.
 * Owns:    a copy of all that the rows say. */
#ifndef WD_SERVER_SERVICE_TOKEN_OWED_H
#define WD_SERVER_SERVICE_TOKEN_OWED_H

#include "server/call.h"
#include "store/token_table.h"

typedef struct wd_token_taken {
    wd_token *token;
    wd_revoked was;
} wd_token_taken;

/* Owe those whose `was` is WD_REVOKED_NOW: their state and a row token.revoke each, in the
 * caller's name and for `reason`. Without memory it is logged as lost. */
void wd_token_owe(const wd_call *call, const char *reason, const wd_token_taken *taken,
                  size_t n_taken);

#endif
