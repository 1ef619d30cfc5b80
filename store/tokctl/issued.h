/* issued.h - what the verbs share whose answer is a secret, told once: issue, rotate,
 * unwrap.
 *
 * Threads: one.  Owns: nothing. */
#ifndef WD_TOKCTL_ISSUED_H
#define WD_TOKCTL_ISSUED_H

#include <protobuf-c/protobuf-c.h>

#include "store/tokctl/verbs.h"
#include "warded/v1/token.pb-c.h"

typedef struct wd_issued {
    const char *secret;
    const Warded__V1__TokenInfo *info;
    char **idle_scopes; /* of an Issue: what opens nothing at the gate */
    size_t n_idle_scopes;
} wd_issued;

typedef struct wd_issuing {
    const char *path;
    const ProtobufCMessage *request;
    wd_issued (*read)(const ProtobufCMessage *reply);
    const char *out; /* NULL: standard output */
    bool admin;      /* not into a pipe */
} wd_issuing;

/* Opens where the secret goes, calls, tells it. Returns the exit status. */
int wd_issuing_run(const wd_tokctl *ctl, const wd_issuing *issuing);

wd_issued wd_issued_of_issue(const ProtobufCMessage *reply);
wd_issued wd_issued_of_rotate(const ProtobufCMessage *reply);
wd_issued wd_issued_of_unwrap(const ProtobufCMessage *reply);

#endif
