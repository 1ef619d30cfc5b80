/* inflight.h - the calls that are under way, for those who must find them: a cancel, a
 * revocation, a connection that is gone, a stop.
 *
 * To signal a call is to mark it. Its owner looks at the mark before the service runs;
 * for a call whose actions run already the executor's thread is told its number.
 *
 * Threads: any; the table keeps its lock private. A wd_live is embedded in its call and
 *          belongs to the table from add to remove.
 * Owns:    nothing but the links. */
#ifndef WD_SERVER_INFLIGHT_H
#define WD_SERVER_INFLIGHT_H

#include "proto/c/cleanup.h"
#include "proto/c/limits.h"
#include "store/token.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why a call was ended from outside. */
typedef enum wd_signal {
    WD_SIGNAL_NONE = 0,
    WD_SIGNAL_CANCEL,   /* the caller asked for it */
    WD_SIGNAL_REVOKED,  /* its token was taken back */
    WD_SIGNAL_VANISHED, /* its connection has been gone for the grace */
    WD_SIGNAL_DRAIN,    /* the gate stops */
} wd_signal;

typedef struct wd_live {
    struct wd_live *next, *prev; /* the table's */
    uint64_t number;             /* never used twice */
    uint32_t pipe;               /* the connection that waits for it */
    const char *principal;       /* borrowed from the call's peer */
    uint8_t call_id[WD_CALL_ID_BYTES];
    char token_id[WD_TOKEN_ID_CHARS + 1];
    wd_signal signal; /* the first one stays */
} wd_live;

/* Which calls: NULL or 0 members match all. */
typedef struct wd_live_filter {
    const char *principal;
    const uint8_t *call_id;
    const char *token_id;
    const char (*token_ids)[WD_TOKEN_ID_CHARS + 1]; /* one of these, sorted */
    size_t n_token_ids;
    uint32_t pipe;
} wd_live_filter;

typedef struct wd_inflight wd_inflight;

/* Called, without the lock, for each call that a signal newly reached. */
typedef void wd_live_told(void *arg, uint64_t number);

wd_inflight *wd_inflight_new(wd_live_told *told, void *arg); /* NULL: no memory */
void wd_inflight_free(wd_inflight *table);
WD_DEFINE_AUTO(wd_inflight, wd_inflight_free)

/* Enter a call whose token has been checked; gives it its number. */
void wd_inflight_add(wd_inflight *table, wd_live *live);
void wd_inflight_remove(wd_inflight *table, wd_live *live); /* also when never added */

/* A call is asked for again from another connection: from now on that is the one that
 * must not vanish. Which one: `principal` and `call_id` of the filter. */
void wd_inflight_move(wd_inflight *table, const wd_live_filter *filter, uint32_t pipe);

/* Mark every call that matches and was not marked yet; returns how many. */
size_t wd_inflight_signal(wd_inflight *table, const wd_live_filter *filter,
                          wd_signal signal);

/* The tokens of the calls under way, in no order, as often as they have one: *ret_ids is
 * from malloc, NULL for none or without memory; how many. */
size_t wd_inflight_tokens(wd_inflight *table, char (**ret_ids)[WD_TOKEN_ID_CHARS + 1]);

/* The connections that wait for the calls under way, one a call, in no order: *ret_pipes is
 * from malloc, NULL for none or without memory; how many. */
size_t wd_inflight_pipes(wd_inflight *table, uint32_t **ret_pipes);

/* The call's mark. */
wd_signal wd_inflight_signalled(wd_inflight *table, const wd_live *live);

size_t wd_inflight_count(wd_inflight *table);

#endif
