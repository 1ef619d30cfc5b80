/* delays.h - tasks that wait until their time has come, then go to a pool.
 *
 * Threads: add: any; run and next: one, the main thread, which add wakes.
 * Owns:    its list; the tasks are embedded in what they move (server/pool.h). */
#ifndef WD_SERVER_DELAYS_H
#define WD_SERVER_DELAYS_H

#include "proto/c/cleanup.h"
#include "server/pool.h"

#include <stdint.h>

typedef struct wd_delays wd_delays;

/* `wake`(`arg`) is called after each add. NULL: no memory. */
wd_delays *wd_delays_new(void (*wake)(void *arg), void *arg);

/* Nothing may wait any more. NULL is fine. */
void wd_delays_free(wd_delays *delays);
WD_DEFINE_AUTO(wd_delays, wd_delays_free)

/* Give a task away until `due_ms` (monotonic). Those that are due at the same time keep
 * their order. */
void wd_delays_add(wd_delays *delays, wd_task *task, int64_t due_ms);

/* Post to `pool` what is due at `now_ms`. */
void wd_delays_run(wd_delays *delays, wd_pool *pool, int64_t now_ms);

/* When the next one is due; INT64_MAX: none waits. */
int64_t wd_delays_next_ms(wd_delays *delays);

#endif
