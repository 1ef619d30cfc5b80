/* parts.h - what one gate is made of; every call borrows it.
 *
 * Threads: the pointers are set before the gate listens and never change; each part
 *          keeps its own rules. `draining` is set once, `limits` by a reload.
 * Owns:    server/gate.c makes and ends the parts. */
#ifndef WD_SERVER_PARTS_H
#define WD_SERVER_PARTS_H

#include "proto/c/clock.h"
#include "proto/c/limits.h"
#include "server/config.h"
#include "server/descriptors.h"
#include "server/executor_link.h"
#include "server/gate.h"
#include "server/inflight.h"
#include "server/kept.h"
#include "server/peer.h"
#include "server/pool.h"
#include "server/registry.h"
#include "server/rejects.h"
#include "store/store.h"
#include "store/writer.h"

#include <stdatomic.h>

struct wd_delays;       /* server/delays.h */
struct wd_batches;      /* server/service/batch.h */
struct wd_audit_keeper; /* server/audit_keeper.h */
struct wd_listener;     /* server/listener.h */

/* Of the settings those that a reload changes: these hold, not the configuration's. */
typedef struct wd_live_limits {
    atomic_uint_fast64_t
        in_flight; /* never above the start's: contexts are made then */
    atomic_uint_fast64_t connections_per_principal;
} wd_live_limits;

typedef struct wd_gate {
    const wd_config *config;
    const wd_clock *clock;
    wd_gate_options options;
    char uri[WD_URI_BYTES + 1];         /* who we are */
    char pool[WD_SPIFFE_SEGMENT_BYTES]; /* of the uri; "": none */
    uint8_t digest_key[WD_SHA256_BYTES];
    int64_t started_ms; /* monotonic */
    wd_files files;     /* what its descriptors are for */

    wd_store *store;
    wd_writer *writer;
    struct wd_audit_keeper *audit_keeper;
    wd_registry *registry;
    wd_peers *peers;
    wd_inflight *inflight;
    wd_keeper *keeper;
    wd_link *link;
    wd_rejects *rejects;
    struct wd_batches *batches;
    struct wd_delays *delays;
    struct wd_listener *listener;

    wd_pool *service_pool;
    wd_pool *reader_pool;
    wd_pool *reply_pool;

    wd_live_limits limits; /* written by the main thread */
    atomic_bool draining;
    atomic_uint tails; /* calls of Audit.Tail that wait for rows */
} wd_gate;

#endif
