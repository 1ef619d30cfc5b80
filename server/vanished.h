/* vanished.h - connections that are gone, until their grace is over.
 *
 * Threads: note: any; due: one.  Owns: its list. */
#ifndef WD_SERVER_VANISHED_H
#define WD_SERVER_VANISHED_H

#include "proto/c/cleanup.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct wd_vanished wd_vanished;

wd_vanished *wd_vanished_new(void); /* NULL: no memory */
void wd_vanished_free(wd_vanished *vanished);
WD_DEFINE_AUTO(wd_vanished, wd_vanished_free)

/* Connection `pipe` is gone; it is due at `due_ms` (monotonic), which never decreases. */
void wd_vanished_note(wd_vanished *vanished, uint32_t pipe, int64_t due_ms);

/* The next one that is due at `now_ms`; false: none. */
bool wd_vanished_due(wd_vanished *vanished, int64_t now_ms, uint32_t *ret_pipe);

/* When the next one is due; INT64_MAX: none waits. */
int64_t wd_vanished_next_ms(wd_vanished *vanished);

#endif
