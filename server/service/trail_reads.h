/* trail_reads.h - whoever reads the trail is in it: a row for each answer, before it goes.
 *
 * Threads: a reader's; it waits for the commit.
 * Source:  docs/audit.md, "Reads". */
#ifndef WD_SERVER_SERVICE_TRAIL_READS_H
#define WD_SERVER_SERVICE_TRAIL_READS_H

#include "server/call.h"

/* What was given away. */
typedef struct wd_trail_read {
    uint64_t rows;
    uint64_t first_seq, last_seq; /* of the answer; 0: none */
} wd_trail_read;

/* A row audit.query: who asked what of call->message, and how much of the trail the answer
 * holds. It is durable when this returns.
 * Errors: UNAVAILABLE         AUDIT_UNWRITABLE: then nothing is answered
 *         RESOURCE_EXHAUSTED  CAPACITY */
WD_MUST_USE wd_status wd_trail_read_note(wd_call *call, const wd_trail_read *read,
                                         wd_error *err);

/* The same of a piece of an export, with its SHA-256: a row audit.export. */
WD_MUST_USE wd_status wd_trail_export_note(wd_call *call, const wd_trail_read *read,
                                           const uint8_t digest[WD_SHA256_BYTES],
                                           wd_error *err);

#endif
