/* rejects.h - refusals of strangers, put on record without letting them fill it.
 *
 * Equal ones (event, address, reason) within a second become one row with a count; at
 * most WD_REJECT_ROWS rows a second are written, the rest is counted in one more row.
 *
 * Threads: note from any thread; flush from one.  Owns: its table. */
#ifndef WD_SERVER_REJECTS_H
#define WD_SERVER_REJECTS_H

#include "proto/c/cleanup.h"
#include "proto/c/status.h"
#include "store/writer.h"

#include <stdint.h>

#define WD_REJECT_ROWS 100U /* a second */

typedef struct wd_reject {
    const char *event;   /* "tls.reject"; static */
    const char *address; /* the host part counts; ports differ with each attempt */
    const char *reason;  /* "unknown_ca"; static */
    const char *detail;  /* for people; of the first one */
} wd_reject;

typedef struct wd_rejects wd_rejects;

wd_rejects *wd_rejects_new(void); /* NULL: no memory */
void wd_rejects_free(wd_rejects *rejects);
WD_DEFINE_AUTO(wd_rejects, wd_rejects_free)

void wd_rejects_note(wd_rejects *rejects, const wd_reject *reject);

/* Hand what was noted to the writer; call it once a second and before the end. */
void wd_rejects_flush(wd_rejects *rejects, wd_writer *writer);

#endif
