/* guesses.h - calls with a well-formed token that nobody was given: answered slowly.
 *
 * A principal has WD_GUESSES_AT_ONCE of them at once, then one each WD_GUESS_MS; while
 * WD_GUESSES_WAITING wait for their refusal, a connection that sends another is closed.
 * Only those calls wait: a token that holds is never slow, whoever else guesses, with the
 * same certificate too.
 *
 * Threads: any.  Owns: nothing.
 * Source:  docs/tokens.md, "Guessing". */
#ifndef WD_SERVER_GUESSES_H
#define WD_SERVER_GUESSES_H

#include <stdatomic.h>
#include <stdint.h>

#include "server/call.h"

#define WD_GUESSES_AT_ONCE 20
#define WD_GUESSES_WAITING 16
#define WD_GUESS_MS        100
#define WD_GUESS_TOO_MANY  INT64_MIN

/* One more at `now_ms` (monotonic) of the principal whose *paid_ms (at first 0) this is:
 * when to answer it (now_ms: at once), or WD_GUESS_TOO_MANY, and it counts as none. */
int64_t wd_guess_due(atomic_int_fast64_t *paid_ms, int64_t now_ms);

/* A call whose token is unknown fails with *err, now or later (parked). */
wd_step wd_guesses_refuse(wd_call *call, const wd_error *err);

#endif
