/* registry.h - which methods there are, and who serves them.
 *
 *     wd_registry_add(registry, &wd_acme_echo_v1_echo, &my_service, err)
 *
 * Ours and users' services go through the same door; this is what libwarded-server
 * will export.
 *
 * Threads: added to before the gate listens, read by all afterwards.
 * Owns:    its table. Method tables are static, services outlive the registry.
 * Source:  proto/c/rule.h; proto/warded/v1/options.proto for the rules. */
#ifndef WD_SERVER_REGISTRY_H
#define WD_SERVER_REGISTRY_H

#include "proto/c/cleanup.h"
#include "proto/c/rule.h"

#include <stdbool.h>
#include <stddef.h>

struct wd_call;

/* Where a handler runs. */
typedef enum wd_where {
    WD_RUN_POOL,   /* on the service threads; short work. The default */
    WD_RUN_INLINE, /* at once, on the thread that has the call; microseconds only */
    WD_RUN_READER, /* on the reader threads; may wait for the disk */
} wd_where;

/* Looks at call->message before the record is written: fills call->pairs and call->plan.
 * Runs no action and changes nothing outside the call. Never parks. */
typedef wd_step wd_planner(struct wd_call *call, wd_error *err);

typedef struct wd_route {
    const wd_method *method;
    const void *service; /* what `invoke` is given */
    wd_planner *plan;    /* NULL: one pair, of the whole call */
    wd_where where;
    const char *event; /* one row of this event instead of a pair, and a second one if
                          it fails after that; NULL: a pair */
    bool goes_on; /* also while the record is short of room; see wd_registry_go_on */
} wd_route;

typedef struct wd_registry wd_registry;

wd_registry *wd_registry_new(void); /* NULL: no memory */
void wd_registry_free(wd_registry *registry);
WD_DEFINE_AUTO(wd_registry, wd_registry_free)

/* Add a service; `service` is its struct wd_..._service.
 * Errors: FAILED_PRECONDITION one of its paths is there already
 *         INTERNAL            no memory */
WD_MUST_USE wd_status wd_registry_add(wd_registry *registry,
                                      const wd_service_info *info, const void *service,
                                      wd_error *err);

/* Say where the method `path` runs and who plans it. The path must be there. */
void wd_registry_place(wd_registry *registry, const char *path, wd_where where,
                       wd_planner *plan);

/* Refuse a built method whose rule says record: ITEM or BATCH when nobody plans it: the
 * gate alone writes one pair a call, and the rule would not hold. Once, after all
 * services have come.
 * Errors: FAILED_PRECONDITION a method has no planner */
WD_MUST_USE wd_status wd_registry_check(const wd_registry *registry, wd_error *err);

/* Say that the mutating method `path` takes rights back, and so is not refused while the
 * audit trail is below its reserve, nor when its begin row can't be written: its handler
 * acts in memory, and answers DATA_LOSS until that is durable. The path must be there. */
void wd_registry_go_on(wd_registry *registry, const char *path);

/* All of them, by path: the nth, counted from 0. NULL: there are not so many. */
const wd_route *wd_registry_at(const wd_registry *registry, size_t n);

/* NULL: no method has this path. */
const wd_route *wd_registry_find(const wd_registry *registry, const char *path);

/* Whether one of the scopes `held` opens the method, by its scope or grant. One
 * "area:{...}" is opened by any of its area: the service then asks for each object. */
bool wd_method_held(const wd_method *method, const char *const *held, size_t n_held);

/* Whether `scope` opens any method that is built, but those that any token opens. */
bool wd_registry_opens(const wd_registry *registry, const char *scope);

/* Whether one of the scopes `held` opens some method of the service that `path` names,
 * by its area. Methods that any token opens do not count. */
bool wd_registry_area_held(const wd_registry *registry, const char *path,
                           const char *const *held, size_t n_held);

#endif
