/* status.h - how every Warded function reports failure.
 *
 * Threads: any.  Owns: nothing.
 * Source:  numbers are gRPC's (grpc/doc/statuscodes.md), so a status travels on the
 *          wire unchanged. Reasons are those of proto/warded/v1/rpc.proto. */
#ifndef WD_STATUS_H
#define WD_STATUS_H

#include <stdint.h>

#define WD_MUST_USE __attribute__((warn_unused_result))

#define WD_STATUS_MAP(X)                                                               \
    X(WD_OK, 0, "ok")                                                                  \
    X(WD_CANCELLED, 1, "cancelled")                                                    \
    X(WD_INVALID_ARGUMENT, 3, "invalid argument")                                      \
    X(WD_DEADLINE_EXCEEDED, 4, "deadline exceeded")                                    \
    X(WD_NOT_FOUND, 5, "not found")                                                    \
    X(WD_PERMISSION_DENIED, 7, "permission denied")                                    \
    X(WD_RESOURCE_EXHAUSTED, 8, "resource exhausted")                                  \
    X(WD_FAILED_PRECONDITION, 9, "failed precondition")                                \
    X(WD_ABORTED, 10, "aborted")                                                       \
    X(WD_UNIMPLEMENTED, 12, "unimplemented")                                           \
    X(WD_INTERNAL, 13, "internal")                                                     \
    X(WD_UNAVAILABLE, 14, "unavailable")                                               \
    X(WD_DATA_LOSS, 15, "data loss")                                                   \
    X(WD_UNAUTHENTICATED, 16, "unauthenticated")

typedef enum wd_status {
#define X(name, number, text) name = (number),
    WD_STATUS_MAP(X)
#undef X
} wd_status;

/* name, number on the wire, the status it belongs to */
#define WD_REASON_MAP(X)                                                               \
    X(TOKEN_MISSING, 1, WD_UNAUTHENTICATED)                                            \
    X(TOKEN_MALFORMED, 2, WD_UNAUTHENTICATED)                                          \
    X(TOKEN_UNKNOWN, 3, WD_UNAUTHENTICATED)                                            \
    X(TOKEN_EXPIRED, 4, WD_UNAUTHENTICATED)                                            \
    X(TOKEN_NOT_YET, 5, WD_UNAUTHENTICATED)                                            \
    X(TOKEN_REVOKED, 6, WD_UNAUTHENTICATED)                                            \
    X(TOKEN_RETIRED, 7, WD_UNAUTHENTICATED)                                            \
    X(TOKEN_NOT_YOURS, 8, WD_UNAUTHENTICATED)                                          \
    X(TOKEN_AUDIENCE, 9, WD_UNAUTHENTICATED)                                           \
    X(IDENTITY_DENIED, 10, WD_UNAUTHENTICATED)                                         \
    X(SCOPE_MISSING, 11, WD_PERMISSION_DENIED)                                         \
    X(METHOD_UNKNOWN, 12, WD_PERMISSION_DENIED)                                        \
    X(SESSION_NOT_YOURS, 13, WD_PERMISSION_DENIED)                                     \
    X(HOST_NOT_ADOPTED, 14, WD_PERMISSION_DENIED)                                      \
    X(QUEUE_FULL, 15, WD_RESOURCE_EXHAUSTED)                                           \
    X(QUOTA, 16, WD_RESOURCE_EXHAUSTED)                                                \
    X(TOKEN_USES_SPENT, 17, WD_RESOURCE_EXHAUSTED)                                     \
    X(CAPACITY, 18, WD_RESOURCE_EXHAUSTED)                                             \
    X(TOO_LARGE, 19, WD_RESOURCE_EXHAUSTED)                                            \
    X(MALFORMED, 20, WD_INVALID_ARGUMENT)                                              \
    X(FIELD_INVALID, 21, WD_INVALID_ARGUMENT)                                          \
    X(CALL_ID_REUSED, 22, WD_INVALID_ARGUMENT)                                         \
    X(CLOCK_SKEW, 23, WD_INVALID_ARGUMENT)                                             \
    X(TOOL_UNKNOWN, 24, WD_NOT_FOUND)                                                  \
    X(ENVIRONMENT_UNKNOWN, 25, WD_NOT_FOUND)                                           \
    X(SESSION_UNKNOWN, 26, WD_NOT_FOUND)                                               \
    X(SESSION_LOST, 27, WD_NOT_FOUND)                                                  \
    X(TOKEN_ID_UNKNOWN, 28, WD_NOT_FOUND)                                              \
    X(EPISODE_FINISHED, 29, WD_FAILED_PRECONDITION)                                    \
    X(STEP_OUT_OF_ORDER, 30, WD_FAILED_PRECONDITION)                                   \
    X(CONFLICT, 31, WD_FAILED_PRECONDITION)                                            \
    X(FORKED, 32, WD_FAILED_PRECONDITION)                                              \
    X(REPLY_EVICTED, 33, WD_ABORTED)                                                   \
    X(CALL_ID_EXPIRED, 34, WD_ABORTED)                                                 \
    X(OUTCOME_UNKNOWN, 35, WD_ABORTED)                                                 \
    X(QUEUE_TIMEOUT, 36, WD_DEADLINE_EXCEEDED)                                         \
    X(RUN_TIMEOUT, 37, WD_DEADLINE_EXCEEDED)                                           \
    X(CANCELLED, 38, WD_CANCELLED)                                                     \
    X(AUDIT_UNWRITABLE, 39, WD_UNAVAILABLE)                                            \
    X(SANDBOX_UNAVAILABLE, 40, WD_UNAVAILABLE)                                         \
    X(DRAINING, 41, WD_UNAVAILABLE)                                                    \
    X(UNREACHABLE, 42, WD_UNAVAILABLE)                                                 \
    X(TLS_REFUSED, 43, WD_UNAVAILABLE)                                                 \
    X(NOT_BUILT, 44, WD_UNIMPLEMENTED)                                                 \
    X(EXECUTOR_DIED, 45, WD_INTERNAL)                                                  \
    X(WORKER_FAILED, 46, WD_INTERNAL)                                                  \
    X(BUG, 47, WD_INTERNAL)                                                            \
    X(OUTCOME_UNRECORDED, 48, WD_DATA_LOSS)                                            \
    X(CHAIN_BROKEN, 49, WD_DATA_LOSS)                                                  \
    X(NOT_ON_RECORD, 50, WD_NOT_FOUND)                                                 \
    X(STORE_UNAVAILABLE, 51, WD_UNAVAILABLE)

typedef enum wd_reason {
    WD_REASON_NONE = 0,
#define X(name, number, status) WD_REASON_##name = (number),
    WD_REASON_MAP(X)
#undef X
} wd_reason;

/* Longest message kept, in bytes, with its NUL. Longer text is cut. */
#define WD_ERROR_MSG_BYTES 512

/* What failed. A value: copy it freely. `msg` is for people: what was attempted, why it
 * failed, what to do; it never holds a secret. */
typedef struct wd_error {
    wd_status status;
    wd_reason reason; /* WD_REASON_NONE: not decided yet; on the wire that is BUG */
    uint64_t retry_after_ms; /* 0: do not retry by the clock */
    char msg[WD_ERROR_MSG_BYTES];
} wd_error;

/* Fill *err (may be NULL) and return its status, so that a failure is one line:
 *     return wd_fail(err, WD_NOT_FOUND, "profile %s has no 'token' file", dir);
 * wd_fail is for local failures; wd_refuse gives a call its reason, and with it the
 * status. Both cut the text to fit; what is then not UTF-8 in it becomes '?', and of a
 * token that it quotes only the kind is left (mask.h). */
wd_status wd_fail(wd_error *err, wd_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
wd_status wd_refuse(wd_error *err, wd_reason reason, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* What to add to a message where the system said `error` (an errno): for want of rights who
 * must run the command, otherwise "". */
const char *wd_rights_cure(int error);

/* "TOKEN_MISSING"; "NONE" for 0, "UNKNOWN" for a number that no reason has. */
const char *wd_reason_name(wd_reason reason);

/* The status that a reason belongs to; WD_INTERNAL for an unknown number. */
wd_status wd_reason_status(wd_reason reason);

/* The only macro in Warded that changes control flow: pass a failure up. */
#define WD_TRY(expr)                                                                   \
    do {                                                                               \
        wd_status wd_try_ = (expr);                                                    \
        if (wd_try_ != WD_OK)                                                          \
            return wd_try_;                                                            \
    } while (0)

/* A programming error ends the process, in release builds too. Never for input. */
#define WD_ASSERT(cond) ((cond) ? (void)0 : wd_assert_failed(#cond, __FILE__, __LINE__))
_Noreturn void wd_assert_failed(const char *cond, const char *file, int line);

#endif
