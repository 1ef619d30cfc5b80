/* rejects.h - refusals, and answers given once more, put on record without letting them
 * fill it.
 *
 * Equal ones (event, reason, who, from where) within a second are counted. Of strangers
 * one row tells the count. Of refused calls the first one has a row of its own, which
 * its call writes, and one row more counts the others. At most WD_REJECT_ROWS rows a
 * second of strangers and as many of callers are written; the rest is counted in one
 * row. While the disk is short of room all are counted, and written when there is room.
 *
 * Threads: note and first: any; flush: one.
 * Owns:    its tables. A batch is the writer's from flush until its `done`.
 * Source:  docs/protocol.md, section 5. */
#ifndef WD_SERVER_REJECTS_H
#define WD_SERVER_REJECTS_H

#include "proto/c/cleanup.h"
#include "proto/c/status.h"
#include "store/writer.h"

#include <stdbool.h>
#include <stdint.h>

#define WD_REJECT_ROWS  100U /* a second, of strangers; and as many of callers */
#define WD_REJECT_SHARE 10U  /* kinds a second of one caller that are told apart */

typedef struct wd_reject {
    const char *event;     /* "tls.reject"; static */
    const char *address;   /* the host part counts; ports differ with each attempt */
    const char *reason;    /* "unknown_ca"; static */
    const char *detail;    /* for people; of the first one */
    const char *principal; /* a caller's; outlives the table. NULL: a stranger */
    const char *token_id;  /* of a token that holds; NULL: none */
    wd_status code;
    bool answered; /* no refusal: an answer was given once more */
} wd_reject;

typedef struct wd_rejects wd_rejects;

wd_rejects *wd_rejects_new(void); /* NULL: no memory */
void wd_rejects_free(wd_rejects *rejects);
WD_DEFINE_AUTO(wd_rejects, wd_rejects_free)

/* Count one. */
void wd_rejects_note(wd_rejects *rejects, const wd_reject *reject);

/* Of a refused call. true: it is the first of its kind in this second, so write its row,
 * and if that can't be written, note it. false: it has been counted. */
bool wd_rejects_first(wd_rejects *rejects, const wd_reject *reject);

/* Hand what was counted to the writer; call it once a second and before the end. */
void wd_rejects_flush(wd_rejects *rejects, wd_writer *writer);

#endif
