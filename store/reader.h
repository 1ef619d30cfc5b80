/* reader.h - a read-only connection to a store, beside the gate that writes it.
 *
 * Threads: one at a time per reader. A gate's query threads have one each.
 * Owns:    its SQLite connection. Takes no lock, changes nothing. */
#ifndef WD_STORE_READER_H
#define WD_STORE_READER_H

#include <stdint.h>

#include "proto/c/cleanup.h"
#include "proto/c/status.h"

typedef struct wd_reader wd_reader;

/* `dir` as in wd_store_options. `vfs` NULL: the default.
 * Errors: NOT_FOUND            no store in `dir`
 *         PERMISSION_DENIED    it may not be read
 *         FAILED_PRECONDITION  another schema version, or a file that is not ours
 *         DATA_LOSS            damaged */
WD_MUST_USE wd_status wd_reader_open(const char *dir, const char *vfs,
                                     wd_reader **ret_reader, wd_error *err);
void wd_reader_close(wd_reader *reader);
WD_DEFINE_AUTO(wd_reader, wd_reader_close)

/* From here on a read that runs when the monotonic clock passes `mono_ms` ends with
 * DEADLINE_EXCEEDED / RUN_TIMEOUT, also while no row comes. 0: no deadline. */
void wd_reader_set_deadline(wd_reader *reader, int64_t mono_ms);

/* The highest wall time that the store has kept, Unix milliseconds: with the clock,
 * whichever is later decides what has expired. */
int64_t wd_reader_highest_ms(const wd_reader *reader);

#endif
