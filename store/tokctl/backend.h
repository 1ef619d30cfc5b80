/* backend.h - who answers a verb: a gate over RPC, or the store's own files.
 *
 * Both are asked with the messages of proto/warded/v1 and answer with them, so that a
 * verb reads arguments and prints, and does not know who has answered.
 *
 * Threads: one.
 * Owns:    the channel; the last reply. */
#ifndef WD_TOKCTL_BACKEND_H
#define WD_TOKCTL_BACKEND_H

#include <protobuf-c/protobuf-c.h>

#include "proto/c/cleanup.h"
#include "store/tokctl/tokctl.h"

typedef struct wd_backend wd_backend;

/* By what ctl says. A gate is not dialled yet.
 * Errors: UNAVAILABLE there is no profile. */
WD_MUST_USE wd_status wd_backend_open(const wd_tokctl *ctl, wd_backend **ret,
                                      wd_error *err);
void wd_backend_free(wd_backend *backend);
WD_DEFINE_AUTO(wd_backend, wd_backend_free)

bool wd_backend_is_offline(const wd_backend *backend);

/* One call; the reply lives until the next one, or the end.
 * Errors: the gate's, by code and reason; UNAVAILABLE, DEADLINE_EXCEEDED, PERMISSION_DENIED
 *         found on this side; UNIMPLEMENTED offline: only a gate can. */
WD_MUST_USE wd_status wd_backend_call(wd_backend *backend, const char *path,
                                      const ProtobufCMessage *request,
                                      const ProtobufCMessage **ret_reply,
                                      wd_error *err);

/* All that a gate of this version has, by service. */
size_t wd_service_count(void);
const wd_rpc_service *wd_service_at(size_t i);
const wd_rpc_method *wd_method_find(const char *path); /* NULL: there is none */

/* The call of a verb that prints one message, and its ending. `reply`'s type is named
 * beside the method: WD_ASK(Issue, ...). */
#define WD_TOKEN_METHOD(name) "/warded.v1.Token/" #name
#define WD_AUDIT_METHOD(name) "/warded.v1.Audit/" #name

#endif
