/* envelope.h - the envelope around every call: Request and Reply of rpc.proto.
 *
 * Read by hand, not by protobuf-c: it is the first thing that a stranger's bytes meet,
 * so nothing is copied before it was checked, and the payload is not copied at all.
 *
 * Threads: any; a decoded envelope has one owner at a time.
 * Source:  proto/warded/v1/rpc.proto, docs/protocol.md. */
#ifndef WD_ENVELOPE_H
#define WD_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/c/buffer.h"
#include "proto/c/cleanup.h"
#include "proto/c/limits.h"
#include "proto/c/message.h"
#include "proto/c/span.h"
#include "proto/c/status.h"

#define WD_ENVELOPE_VERSION 1U

typedef enum wd_request_kind {
    WD_REQUEST_CALL = 0,   /* run `method` */
    WD_REQUEST_CANCEL = 1, /* end the call `call_id`; only token and call_id count */
    WD_REQUEST_NEXT = 2,   /* the next message of the stream `call_id` */
} wd_request_kind;

typedef struct wd_metadata {
    const char *key;   /* [a-z0-9._-]{1,64} */
    const char *value; /* UTF-8 */
} wd_metadata;

typedef struct wd_request {
    uint32_t version; /* WD_ENVELOPE_VERSION */
    uint8_t call_id[WD_CALL_ID_BYTES];
    uint32_t attempt;
    const char *method;  /* never NULL; at most WD_METHOD_BYTES; not empty in a CALL */
    uint64_t timeout_ms; /* as sent: 0 means the default; not checked here */
    const char *token; /* never NULL; "" when none came; its form is not checked here */
    wd_request_kind kind;
    size_t n_metadata;
    const wd_metadata *metadata; /* no key twice */
    wd_span payload;             /* borrowed from the frame */
} wd_request;

/* Reads one request. `payload` points into `frame`, which must outlive the request; all
 * else is owned by it. A field that comes twice counts as its last; unknown fields are
 * skipped. Every string is UTF-8 without a NUL; call_id is a UUIDv7.
 * Errors: TOO_LARGE (frame above WD_FRAME_BYTES, metadata above its limits);
 *         MALFORMED (not protobuf, or not UTF-8);
 *         TOKEN_MALFORMED (a token above WD_TOKEN_BYTES);
 *         FIELD_INVALID (version, call_id, method, kind, metadata key, a key twice);
 *         CAPACITY (out of memory). */
WD_MUST_USE wd_status wd_request_decode(wd_span frame, wd_request **ret_request,
                                        wd_error *err);

/* Wipes the token. Accepts NULL. */
void wd_request_free(wd_request *request);
WD_DEFINE_AUTO(wd_request, wd_request_free)

/* The call id of a frame that could not be decoded, so that the refusal can carry it.
 * false: it has none of 16 bytes that can be read. */
WD_MUST_USE bool wd_request_peek_call_id(wd_span frame,
                                         uint8_t ret_call_id[WD_CALL_ID_BYTES]);

/* The value of a metadata key, or NULL. */
const char *wd_request_metadata(const wd_request *request, const char *key);

/* Appends a request, for C clients and tests; checks nothing.
 * Errors: CAPACITY (out of memory; `out` is then not usable). */
WD_MUST_USE wd_status wd_request_encode(const wd_request *request, wd_buffer *out,
                                        wd_error *err);

typedef struct wd_reply {
    wd_span call_id;         /* 16 bytes, or empty: the request could not be read */
    uint32_t code;           /* wd_status, or a number that this build does not know */
    uint32_t reason;         /* wd_reason, likewise; 0 exactly when code is 0 */
    const char *message;     /* NULL means ""; bytes that are not UTF-8 are replaced */
    uint64_t retry_after_ms; /* 0: do not retry by the clock */
    wd_span detail;
    size_t n_metadata;
    const wd_metadata *metadata;
    bool has_head; /* whether the two below are known */
    uint64_t head_seq;
    uint8_t head_hash[WD_SHA256_BYTES];
    wd_span payload; /* empty unless code is 0 */
    uint64_t now_ms; /* the gate's wall clock, Unix milliseconds */
} wd_reply;

/* Appends one reply. A payload beside a code other than 0 is left out.
 * Errors: CAPACITY (out of memory; `out` is then not usable). */
WD_MUST_USE wd_status wd_reply_encode(const wd_reply *reply, wd_buffer *out,
                                      wd_error *err);

/* Reads one reply; spans point into `frame`, which must outlive it.
 * Errors: MALFORMED; TOO_LARGE; FIELD_INVALID; CAPACITY, as for requests. */
WD_MUST_USE wd_status wd_reply_decode(wd_span frame, wd_reply **ret_reply,
                                      wd_error *err);
void wd_reply_free(wd_reply *reply);
WD_DEFINE_AUTO(wd_reply, wd_reply_free)

#endif
