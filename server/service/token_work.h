/* token_work.h - what the handlers of Token share: whom a call concerns, and the work that
 * the store's writer does for it while it is parked.
 *
 * Threads: the call's owner; `apply` on the writer's thread. */
#ifndef WD_SERVER_SERVICE_TOKEN_WORK_H
#define WD_SERVER_SERVICE_TOKEN_WORK_H

#include "server/call.h"
#include "server/policy.h"
#include "server/service/token_info.h"

/* The first member of each handler's own. */
typedef struct wd_token_work {
    wd_store_job job;
    wd_task task;
    wd_call *call;
    wd_token_issued issued; /* what is made; zero: nothing */
    wd_status (*reply)(struct wd_token_work *work, wd_error *err);
    wd_status (*failed)(struct wd_token_work *work,
                        wd_error *err); /* words for it; NULL:
                                                                       those of the job */
    void (*clear)(
        struct wd_token_work *work); /* frees what else it owns; NULL: nothing */
} wd_token_work;

/* `size` bytes, zero but for the call, freed with it. NULL: no memory, *err says so. */
void *wd_token_work_new(wd_call *call, size_t size, wd_error *err);

/* Has the writer run `apply`, then `reply` on a service thread if that succeeded. */
wd_step wd_token_work_park(wd_token_work *work,
                           wd_status (*apply)(wd_store *, wd_store_job *, wd_error *),
                           wd_status (*reply)(wd_token_work *, wd_error *));

/* Whether the caller may do to the token `id` what takes `scope`; "": itself. Whoever does
 * it to itself needs no scope; for what changes something, only data tokens.
 * Errors: PERMISSION_DENIED SCOPE_MISSING */
WD_MUST_USE wd_status wd_token_may(const wd_call *call, const char *id,
                                   const char *scope, bool changes, wd_error *err);
bool wd_token_is_own(const wd_call *call, const char *id);

/* The token `id`, "": the caller's own. Borrowed: tokens never leave the gate's table.
 * Errors: NOT_FOUND TOKEN_ID_UNKNOWN, INVALID_ARGUMENT FIELD_INVALID */
WD_MUST_USE wd_status wd_token_target(const wd_call *call, const char *id,
                                      wd_token **ret_token, wd_error *err);

/* How long a token is to live, from now on. */
typedef struct wd_token_life {
    uint64_t ttl_ms; /* as asked for; 0: `usual_ms`, or what the bound leaves */
    int64_t usual_ms;
    int64_t until_ms; /* no end is later */
    int64_t now_ms;
} wd_token_life;

/* Errors: INVALID_ARGUMENT FIELD_INVALID: ttl_ms, or an end that is too late */
WD_MUST_USE wd_status wd_token_end(const wd_token_life *life, int64_t *ret_end_ms,
                                   wd_error *err);

/* The handlers of the other files. */
wd_step wd_token_renew(void *self, wd_call *call,
                       const Warded__V1__RenewRequest *request, wd_error *err);
wd_step wd_token_rotate(void *self, wd_call *call,
                        const Warded__V1__RotateRequest *request, wd_error *err);
wd_step wd_token_retire(void *self, wd_call *call,
                        const Warded__V1__RetireRequest *request, wd_error *err);
wd_step wd_token_unwrap(void *self, wd_call *call,
                        const Warded__V1__UnwrapRequest *request, wd_error *err);
wd_step wd_token_revoke(void *self, wd_call *call,
                        const Warded__V1__RevokeRequest *request, wd_error *err);
wd_step wd_token_list(void *self, wd_call *call, const Warded__V1__ListRequest *request,
                      wd_error *err);
wd_step wd_token_show(void *self, wd_call *call, const Warded__V1__ShowRequest *request,
                      wd_error *err);
wd_step wd_token_ask(void *self, wd_call *call, const Warded__V1__CheckRequest *request,
                     wd_error *err);

/* Their planners: who may. */
wd_step wd_token_plan_renew(wd_call *call, wd_error *err);
wd_step wd_token_plan_rotate(wd_call *call, wd_error *err);
wd_step wd_token_plan_revoke(wd_call *call, wd_error *err);
wd_step wd_token_plan_show(wd_call *call, wd_error *err);
wd_step wd_token_plan_ask(wd_call *call, wd_error *err);

#endif
