/* leaked.h - the secrets that stand in a text that should not have held them.
 *
 * Threads: one.
 * Owns:    the secrets; wd_leaked_done wipes them. */
#ifndef WD_TOKCTL_LEAKED_H
#define WD_TOKCTL_LEAKED_H

#include "proto/c/status.h"
#include "store/token.h"

#define WD_LEAKED_COUNT 1024U /* of one request */

typedef struct wd_leaked {
    char **texts; /* whole tokens, each once */
    size_t n;
} wd_leaked;

/* Another one, unless it is there already. false: no room, or no memory. */
WD_MUST_USE bool wd_leaked_add(wd_leaked *leaked, const wd_token_text *token);

/* All of a file's, or of standard input's for "-".
 * Errors: NOT_FOUND, RESOURCE_EXHAUSTED more than 1,024 */
WD_MUST_USE wd_status wd_leaked_read(wd_leaked *leaked, const char *path,
                                     wd_error *err);
void wd_leaked_done(wd_leaked *leaked);

#endif
