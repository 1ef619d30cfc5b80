/* call.h - the one object that travels through the pipeline.
 *
 * Threads: one owner at a time; ownership moves by queue (server/pool.h, the writer's,
 *          the executor link's), never by sharing. What others may do to a running call
 *          (cancel it) goes through server/inflight.h.
 * Owns:    the fields marked "owned"; wd_call_free() frees them.
 *
 * Each group of fields is set by the file of server/ that its comment names, and read by
 * the stages after it. tests/lint checks that. */
#ifndef WD_SERVER_CALL_H
#define WD_SERVER_CALL_H

#include "proto/c/alloc.h"
#include "proto/c/buffer.h"
#include "proto/c/envelope.h"
#include "proto/c/message.h"
#include "proto/c/rule.h"
#include "proto/c/sha256.h"
#include "proto/c/status.h"
#include "proto/c/uuid.h"
#include "server/crowd.h"
#include "server/inflight.h"
#include "server/kept.h"
#include "server/peer.h"
#include "server/pool.h"
#include "store/audit.h"
#include "store/tokens.h"
#include "store/writer.h"

struct wd_gate;  /* server/parts.h */
struct wd_route; /* server/registry.h */
struct wd_slot;  /* server/contexts.h */

/* One begin/end pair of the audit trail. All text is borrowed from the request. */
typedef struct wd_pair {
    const char *trajectory_id;        /* NULL: none */
    const char *tool;                 /* NULL: none */
    const char *scope;                /* NULL: the method's */
    uint32_t item;                    /* index in the batch */
    char digest[WD_SHA256_HEX_BYTES]; /* HMAC of the request or of the action */
    const char *request; /* JSON, where audit.level is request; NULL: not kept */

    /* At the end, by the service; otherwise the whole call's outcome counts. */
    bool known;
    const char *outcome; /* "ok", "refused", "failed"; static */
    const char *result;  /* the item's status by name; static; NULL: none */
    wd_status status;
    wd_reason reason;
    uint64_t duration_us;
    uint64_t bytes_out;
} wd_pair;

typedef struct wd_call {
    /* set by contexts */
    struct wd_gate *gate; /* borrowed, outlives the call */
    struct wd_slot *slot; /* where the reply goes; NULL in tests of single stages */
    wd_peer *peer;        /* who called; the slot's count */
    wd_span frame;        /* the envelope; lives as long as the call */
    int64_t received_ns;  /* monotonic */
    wd_room room;         /* may it run, as far as places go */
    uint64_t share;       /* places that its principal may have */

    /* set by wire */
    wd_request *request; /* owned; NULL when it could not be decoded */
    wd_span call_id;     /* in id_bytes, or empty */
    uint8_t id_bytes[WD_UUID_BYTES];
    char id_text[WD_UUID_TEXT_BYTES]; /* "" when there is none */
    int64_t deadline_ms;              /* monotonic */

    /* set by dispatch */
    const struct wd_route *route; /* NULL: no method has that path */

    /* set by auth */
    wd_token *token; /* owned count */

    /* set by policy */
    wd_budget *budget;               /* owned: the memory of all below; its peer's */
    ProtobufCMessage *message;       /* the method's request, decoded */
    const wd_text_fault *faults;     /* of its items; the planner takes them */
    uint8_t digest[WD_SHA256_BYTES]; /* HMAC of method and payload; of audited calls */
    wd_pair *pairs;                  /* what goes on record */
    size_t n_pairs;
    void *plan; /* the service's own, made by its planner */

    /* set by dedupe */
    struct wd_kept *kept; /* owned count: where its answer goes, or comes from */
    wd_answer *answer; /* owned count; of an earlier attempt: it is sent, whatever the
                           * other fields say. NULL: none */
    bool claimed;      /* the call id is this call's */

    /* set by spend */
    bool entered;        /* it has a place among its token's calls */
    bool waits_for_uses; /* to be reserved by the store */

    /* set by audit */
    bool begun; /* the intent is durable */

    /* set by service */
    bool ran;   /* the handler was entered */
    void *work; /* the handler's own while the call is parked in it */
    void (*work_free)(void *work); /* frees `work` with the call; NULL: nothing to do */

    /* set by service, dedupe */
    wd_buffer
        payload; /* owned: the encoded reply message; in the end dedupe keeps it */

    /* set by pipeline */
    size_t stage;   /* index of the stage that has the call */
    wd_error error; /* the first failure; status WD_OK: none */

    /* of the queues: whoever gives the call away fills it */
    wd_task task;
    wd_store_job job;
    wd_step resumed; /* how the stage that parked has ended; its error is job.error */
    wd_live live;    /* how others find the call; see server/inflight.h */
} wd_call;

/* Free everything owned, the call itself included. NULL is fine. */
void wd_call_free(wd_call *call);

/* Milliseconds until the deadline; 0 when it has passed. */
int64_t wd_call_left_ms(const wd_call *call);

/* End a parked handler: the call goes on at `pool` with `step`; *err (copied) is read
 * when it is not WD_NEXT. *Takes* the call. */
void wd_call_resume_at(wd_pool *pool, wd_call *call, wd_step step, const wd_error *err);

#endif
