/* request.h - what a caller asked for, and how it looks on the wire.
 *
 * Threads: one owner at a time.  Owns: the payload. */
#ifndef WD_CLIENT_REQUEST_H
#define WD_CLIENT_REQUEST_H

#include "clients/c/failure.h"
#include "clients/c/profile.h"
#include "proto/c/envelope.h"

/* A buffer that held a secret: overwritten when it leaves scope. */
#define WD_AUTO_SECRET __attribute__((cleanup(wd_buffer_wipe)))

typedef struct wd_asked {
    const char *path;
    uint8_t call_id[WD_CALL_ID_BYTES];
    uint32_t attempt;
    uint64_t timeout_ms; /* 1..WD_TIMEOUT_MOST_MS */
    wd_metadata metadata[WD_METADATA_ENTRIES];
    size_t n_metadata;
    wd_buffer payload;
    bool dated; /* it has a call id */
} wd_asked;

/* *ret_own_id: the caller gave a call id.
 * Errors (phase SEND, in rpc->failure): FIELD_INVALID no UUIDv7, a timeout beyond a
 *         day, a key without a value; TOO_LARGE metadata */
WD_MUST_USE wd_status wd_asked_init(wd_asked *asked, const char *path, wd_rpc *rpc,
                                    bool *ret_own_id);
void wd_asked_done(wd_asked *asked);

/* Errors (phase SEND): CAPACITY */
WD_MUST_USE wd_status wd_asked_payload(wd_asked *asked, const ProtobufCMessage *message,
                                       wd_failure *why);

/* A fresh call id of that date. */
void wd_asked_date(wd_asked *asked, int64_t now_ms);

/* The envelope, with the token as it is now and what is left of the time.
 * Errors: the profile's; phase SEND: TOO_LARGE, CAPACITY, QUEUE_TIMEOUT */
WD_MUST_USE wd_status wd_asked_encode(const wd_asked *asked, wd_profile *profile,
                                      int64_t until_ms, wd_buffer *out,
                                      wd_failure *why);

bool wd_asked_is_answer(const wd_asked *asked, const wd_reply *reply);

/* The gate's refusal as a failure of phase REMOTE. */
wd_status wd_asked_refused(const wd_asked *asked, const wd_reply *reply,
                           wd_failure *why);

/* The call id into *why, if there is one. */
void wd_asked_name(const wd_asked *asked, wd_failure *why);

#endif
