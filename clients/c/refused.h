/* refused.h - a handshake that failed, as the engine told it, and what to say of it.
 *
 * Threads: any; values.  Owns: nothing. */
#ifndef WD_CLIENT_REFUSED_H
#define WD_CLIENT_REFUSED_H

#include "clients/c/failure.h"
#include "proto/tls/cause.h"

typedef enum wd_refusal_kind {
    WD_REFUSAL_NONE = 0,
    WD_REFUSAL_HOST, /* we refused: the policy */
    WD_REFUSAL_TLS,  /* by `cause` */
} wd_refusal_kind;

typedef struct wd_refusal {
    wd_refusal_kind kind;
    wd_tls_cause cause;
    uint8_t alert;
    char text[WD_ERROR_MSG_BYTES];
} wd_refusal;

/* The first that is told counts: what follows is its consequence. */
void wd_refusal_host(wd_refusal *refusal, const wd_error *err);
void wd_refusal_tls(wd_refusal *refusal, wd_tls_cause cause, uint8_t alert,
                    const char *detail);

/* As HOST_NOT_ADOPTED, TLS_REFUSED or UNREACHABLE; `address`: whom we dialled. */
wd_status wd_refusal_tell(const wd_refusal *refusal, const char *address,
                          wd_failure *why);

#endif
