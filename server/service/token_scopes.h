/* token_scopes.h - which scopes of a token open anything at this gate.
 *
 * Threads: any.  Owns: nothing. */
#ifndef WD_SERVER_SERVICE_TOKEN_SCOPES_H
#define WD_SERVER_SERVICE_TOKEN_SCOPES_H

#include "store/tokens.h"

struct wd_gate; /* server/parts.h */

/* Those of the token's scopes that open no method, and no tool, of this gate: `ret_idle`
 * has room for WD_SCOPES_COUNT, and borrows. Returns how many; none, where the token's
 * audience is other gates. */
size_t wd_token_idle_scopes(const struct wd_gate *gate, const wd_token *token,
                            const char **ret_idle);

#endif
