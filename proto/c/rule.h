/* rule.h - what generated code tells a server: each method, its rule, and its thunk.
 *
 * protoc-gen-warded writes for a service S of package p, in <file>.wd.{h,c}:
 *     const wd_service_info wd_p_s;                   its table of methods
 *     struct wd_p_s_service { void *self; wd_step (*method)(...); ... };
 *     wd_status wd_p_s_reply_method(call, reply, err);        typed wd_call_set_reply
 * A server fills the struct with handlers and registers both; dispatch finds the
 * method by its path, decodes the payload as `request`, and calls `invoke`, which is
 * one line: cast, and call the handler.
 *
 * A handler runs with one owner's rights over the call: it answers at once (wd_..._reply_x,
 * then WD_NEXT), refuses (fills *err, WD_FAILED), or keeps the call and returns WD_PARKED;
 * then whoever finishes it replies and resumes the call. The request and what it points
 * to live as long as the call.
 *
 * Threads: tables are constant.  Owns: nothing.
 * Source:  proto/warded/v1/options.proto. */
#ifndef WD_RULE_H
#define WD_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "proto/c/status.h"

struct wd_call; /* the server's; see server/call.h */

/* What became of a call in one stage. */
typedef enum wd_step {
    WD_NEXT = 0,     /* done here: go on with the next stage */
    WD_FAILED = 1,   /* *err says why; the first failure of a call is kept */
    WD_PARKED = 2,   /* the call has another owner now, who resumes it */
    WD_ANSWERED = 3, /* its answer is there already: nothing is left but to send it */
} wd_step;

/* How many records a call leaves in the audit trail. */
typedef enum wd_record {
    WD_RECORD_CALL = 0,  /* one pair */
    WD_RECORD_ITEM = 1,  /* one pair for each item of the batch */
    WD_RECORD_BATCH = 2, /* one pair that carries each item's digest */
} wd_record;

/* `service` is the struct wd_..._service that was registered. */
typedef wd_step wd_invoke(const void *service, struct wd_call *call,
                          const ProtobufCMessage *request, wd_error *err);

typedef struct wd_method {
    const char *path;    /* "/warded.v1.Observation/GetObservation" */
    const char *service; /* "warded.v1.Observation" */
    const char *name;    /* "GetObservation" */
    const char *scope;   /* "observe:{tool}", "token:issue"; "": any live token */
    const char *grant;   /* opens it too: "session:{session_id}"; NULL, "": none does */
    bool mutates;
    bool audited;
    bool lane;               /* answered even at limits.in_flight */
    bool own;                /* a token may do it to itself without the scope */
    bool built;              /* false: NOT_BUILT, and `invoke` is NULL */
    bool streams;            /* the reply is a stream, pulled by NEXT */
    uint32_t max_timeout_ms; /* never 0 */
    wd_record record;
    const ProtobufCMessageDescriptor *request;
    const ProtobufCMessageDescriptor *reply;
    wd_invoke *invoke;
} wd_method;

typedef struct wd_service_info {
    const char *name; /* "warded.v1.Observation" */
    const wd_method *methods;
    size_t n_methods;
} wd_service_info;

/* What a thunk answers when the server left a handler NULL: refuses with NOT_BUILT. */
wd_step wd_method_unserved(const char *path, wd_error *err);

/* Encodes `message` as the call's reply payload. The server provides it; generated
 * wd_..._reply_x are its typed forms. Call it once, as the call's owner.
 * Errors: TOO_LARGE (above limits.reply_bytes), CAPACITY. */
WD_MUST_USE wd_status wd_call_set_reply(struct wd_call *call,
                                        const ProtobufCMessage *message, wd_error *err);

#endif
