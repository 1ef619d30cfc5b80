/* local.h - the methods of Token and Audit, answered from the store's own files.
 *
 * For the host's operator while no gate can be asked: reading works beside a gate that
 * runs, changing needs the store's lock (CONFLICT names the process that has it). What is
 * changed is on record as "local:<uid>".
 *
 * Threads: one.
 * Owns:    the last reply. */
#ifndef WD_TOKCTL_LOCAL_H
#define WD_TOKCTL_LOCAL_H

#include <protobuf-c/protobuf-c.h>

#include "proto/c/alloc.h"
#include "proto/c/cleanup.h"
#include "store/reader.h"
#include "store/store.h"
#include "store/tokctl/tokctl.h"
#include "store/tokens.h"

typedef struct wd_local wd_local;

WD_MUST_USE wd_status wd_local_new(const wd_tokctl *ctl, wd_local **ret, wd_error *err);
void wd_local_free(wd_local *local); /* NULL is fine */
WD_DEFINE_AUTO(wd_local, wd_local_free)

/* As wd_backend_call. */
WD_MUST_USE wd_status wd_local_call(wd_local *local, const char *path,
                                    const ProtobufCMessage *request,
                                    const ProtobufCMessage **ret_reply, wd_error *err);

/* --- for the methods: local_token.c, local_audit.c, local_prune.c -------------------------------------- */

/* A method: fills *ret_reply with a message of its own type, in the local's memory. */
typedef wd_status wd_local_run(wd_local *local, const ProtobufCMessage *request,
                               ProtobufCMessage **ret_reply, wd_error *err);

typedef struct wd_local_method {
    const char *path;
    wd_local_run *run;
} wd_local_method;

extern const wd_local_method wd_local_token_methods[]; /* end with an empty one */
extern const wd_local_method wd_local_audit_methods[];

/* The store to change it: takes the lock. And to read it, also while a gate runs. The
 * caller's. */
WD_MUST_USE wd_status wd_local_open(wd_local *local, wd_store **ret, wd_error *err);
WD_MUST_USE wd_status wd_local_read(wd_local *local, wd_reader **ret, wd_error *err);

/* The time that decides what has expired: the clock's, or the highest that was kept. */
int64_t wd_local_now_ms(const wd_reader *reader);

/* Memory of the reply, zeroed. NULL: there is no more. */
void *wd_local_take(wd_local *local, size_t size);
wd_budget *wd_local_budget(wd_local *local);
wd_status wd_local_no_memory(wd_error *err);

/* Keeps a token for as long as the reply lives. */
WD_MUST_USE wd_status wd_local_keep(wd_local *local, wd_token *token, wd_error *err);

/* The folder of exports: --exports DIR, or the store's own. NULL: no memory. */
const char *wd_local_exports(wd_local *local);

/* The CA's certificates: --ca FILE's, or those of the gate beside the store; *ret_pem is
 * NULL when there are none.  Errors: NOT_FOUND, INVALID_ARGUMENT: --ca */
WD_MUST_USE wd_status wd_local_ca(const wd_local *local, char **ret_pem, wd_error *err);

/* Audit.Prune: local_prune.c. */
wd_local_run wd_local_prune;

/* Whom the record names: "local:<uid>". */
const char *wd_local_principal(const wd_local *local);

#endif
