/* token_player.h - a store that is killed where a trace says so, and what is seen of it.
 *
 * Threads: one a process. A store's life is a process; what is `outside` outlives it.
 * Owns:    the store. For tests/support/token_steps.c alone. */
#ifndef WD_TESTS_TOKEN_PLAYER_H
#define WD_TESTS_TOKEN_PLAYER_H

#include <stdbool.h>

#include "proto/c/clock.h"
#include "store/internal.h"
#include "tests/support/vfs_shim.h"

#define WD_PLAYER_PEER        "spiffe://warded.local/ns/default/owner/ann/client/trainer"
#define WD_PLAYER_GENERATIONS 8
#define WD_PLAYER_DIED        10 /* exit status: go on with another life */
#define WD_TICK_MS            600000LL

/* What no death of a process takes: in memory that all of them share. */
typedef struct outside {
    int64_t wall_ms;
    int64_t mono_ms;
    unsigned boot;
    wd_token_text texts[WD_PLAYER_GENERATIONS];
    size_t n_texts;
    wd_token_text child; /* "": none */
} outside;

typedef struct player {
    wd_clock clock; /* first */
    outside *out;
    const char *dir;
    wd_store *store;
    wd_shim shim;
    bool armed;  /* the change in work was decided: the next write is its own */
    bool begun;  /* its first write was told of */
    bool framed; /* so are its rows */
    bool synced; /* so was its being durable */
    bool torn;
    bool owed[WD_PLAYER_GENERATIONS]; /* revocations that the disk has not taken yet */
} player;

/* A job of the writer's. */
typedef struct change {
    wd_store_job job; /* first */
    player *p;
    const char *id;
    wd_token_rotation rotation;
    bool stops; /* before it is written, and when it is */
    wd_status (*make)(wd_store *store, struct change *change, wd_error *err);
} change;

/* A life begins, or goes on with the store opened again. */
void wd_player_begin(player *p, outside *out, const char *dir);
void wd_player_open(player *p);

_Noreturn void wd_player_fail(const char *what, const wd_error *err);
_Noreturn void wd_player_die(void);
_Noreturn void wd_player_reboot(const player *p); /* and die */

/* What a call with `text` is told. */
wd_reason wd_player_check(player *p, const char *text, wd_token **ret_token);

/* One line: the outcome, and what is seen. */
void wd_player_answer(player *p, const char *outcome);
const char *wd_player_word(wd_reason reason);

/* The next line of the trace; false: it has ended. */
bool wd_player_line(char *line, size_t size);

/* Writes a change, in one group with what is owed, as the writer's retries are. It may be
 * killed there, or fail. */
wd_reason wd_player_run(player *p, change *c);
wd_status wd_player_make_revocation(wd_store *store, change *c, wd_error *err);

/* What a gate does before it answers: the outcome is on record, and the time with it. But
 * not when the disk just failed. */
void wd_player_record(player *p);
void wd_player_tell(player *p, wd_reason reason);

/* token_steps.c's: what may come in the middle of a change. */
void wd_player_call(player *p, const char *who);

#endif
