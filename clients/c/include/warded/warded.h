/* warded.h - calls from C: a profile, a channel, one blocking call after the other.
 *
 *     wd_failure why;
 *     wd_channel *channel = wd_channel_open(NULL, &why);      the default profile
 *     wd_rpc rpc = {.timeout_ms = 5000};
 *     Warded__V1__WhoAmIRequest ask = WARDED__V1__WHO_AM_IREQUEST__INIT;
 *     const Warded__V1__WhoAmIReply *me =
 *         wd_warded_v1_token_call_who_am_i(channel, &rpc, &ask);
 *     if (me == NULL)
 *         fprintf(stderr, "%s\n", rpc.failure.message);
 *     wd_rpc_done(&rpc);                                      frees what `me` points to
 *     wd_channel_close(channel);
 *
 * The typed calls are protoc-gen-warded's: <proto>.wdc.h, for your own services as well.
 * Before a byte of a call leaves, the gate has proved by its certificate that it is one
 * the profile trusts. A call is sent at most once; only where the gate says that its call
 * id had a wrong date, so that it did not run, it is sent again, once, with a right one.
 *
 * Threads: any number may call on one channel; a wd_rpc is one thread's at a time.
 *          NNG runs threads of its own and does not survive fork(): in a forked child
 *          every call answers FAILED_PRECONDITION / FORKED, and nothing is freed; the
 *          child may exec a program that opens a channel of its own.
 * Owns:    a channel its connection. There is no state beside channels.
 * Source:  docs/protocol.md. */
#ifndef WARDED_WARDED_H
#define WARDED_WARDED_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define WD_PUBLIC __attribute__((visibility("default")))

/* How far a call had come. */
typedef enum wd_phase {
    WD_PHASE_NONE = 0,
    WD_PHASE_PROFILE, /* reading the profile's files */
    WD_PHASE_RESOLVE, /* the gate's name */
    WD_PHASE_CONNECT, /* TCP */
    WD_PHASE_TLS,     /* the handshake, until the gate's greeting */
    WD_PHASE_HOST,    /* who the gate is */
    WD_PHASE_AUTH,    /* the token */
    WD_PHASE_SEND,    /* before the request was handed to the connection */
    WD_PHASE_WAIT,    /* sent, no answer: it may have run */
    WD_PHASE_REMOTE,  /* the gate answered */
} wd_phase;

/* Why a call, or a channel, failed. A value: copy it freely. Holds no secret. */
typedef struct wd_failure {
    uint32_t code;   /* gRPC's number; 0: nothing failed */
    uint32_t reason; /* Warded__V1__Reason: what programs branch on */
    wd_phase phase;
    bool may_have_run; /* false: it is safe to make the same call anew */
    uint8_t alert;     /* TLS_REFUSED: the alert that the gate sent (RFC 8446 6) */
    uint64_t retry_after_ms; /* 0: do not retry by the clock */
    char call_id[37];        /* UUID as the audit trail has it; "" when it had none */
    char message[1024];      /* for people: what was attempted, why it failed */
} wd_failure;

/* "HOST_NOT_ADOPTED"; where there is no reason, as for a file of the profile, the code:
 * "NOT_FOUND". One that is not known: its number as text, into `ret_text`. */
WD_PUBLIC const char *wd_failure_reason(const wd_failure *failure, char ret_text[16]);
/* "host". Static. */
WD_PUBLIC const char *wd_phase_name(wd_phase phase);
/* What to do about it, in one line. Static, never NULL. */
WD_PUBLIC const char *wd_failure_cure(const wd_failure *failure);

typedef struct wd_channel wd_channel;

/* Where to find what a client has: a folder with the files server, ca.pem, cert.pem,
 * key.pem, token and, if there is one, policy; any of them may be named by itself, and
 * must then be there. The files are read again when they change. */
typedef struct wd_channel_options {
    const char *profile; /* NULL: $WARDED_PROFILE, else ~/.config/warded/default */
    const char *server;  /* "HOST:PORT" or "ADDRESS as HOST:PORT", not the file's */
    const char *ca, *cert, *key, *token, *policy; /* paths; NULL: the profile's */
} wd_channel_options;

/* A channel; connects with its first call. `options` NULL: all defaults; it and what it
 * points to may go when this has returned. NULL: *ret_failure says why: the profile is
 * not there, or memory is out. */
WD_PUBLIC wd_channel *wd_channel_open(const wd_channel_options *options,
                                      wd_failure *ret_failure);

/* No call may be running on it. NULL is fine. */
WD_PUBLIC void wd_channel_close(wd_channel *channel);

/* One call: asked for, then answered. Zero it before its first use; it may be used again
 * after wd_rpc_done. */
typedef struct wd_rpc {
    uint64_t timeout_ms;         /* of the whole call, at most 86,400,000; 0: 30,000 */
    const char *const *metadata; /* key, value, key, value, ..., NULL; or NULL */
    uint8_t call_id[16]; /* a UUIDv7 of your own; all zero: one is made for the call */

    wd_failure failure; /* code 0: it was answered OK */
    uint64_t head_seq;  /* newest row of the gate's audit trail as the reply told it */
    uint64_t now_ms;    /* the gate's clock then, Unix milliseconds; 0: no reply */
    void *memory;       /* the library's */
} wd_rpc;

/* What the generated code knows of a method, and of a service: for programs that learn
 * only when they run what is to be called. `help` is the proto's own comment. */
typedef struct wd_rpc_method {
    const char *path; /* "/warded.v1.Token/Issue" */
    const char *name; /* "Issue" */
    const char *scope, *help;
    bool mutates, streams;
    uint32_t max_timeout_ms;
    const ProtobufCMessageDescriptor *request, *reply;
} wd_rpc_method;

typedef struct wd_rpc_service {
    const char *name; /* "warded.v1.Token" */
    const char *help;
    const wd_rpc_method *methods;
    size_t n_methods;
} wd_rpc_service;

/* The call behind every generated stub: `path` is "/package.Service/Method". Returns the
 * reply, which lives until wd_rpc_done(rpc); NULL: rpc->failure says why. Blocks for at
 * most the timeout, and two seconds more once the call has been sent: at its deadline
 * the gate ends what runs, and only then answers. */
WD_PUBLIC const ProtobufCMessage *
wd_rpc_invoke(wd_channel *channel, wd_rpc *rpc, const char *path,
              const ProtobufCMessage *request, const ProtobufCMessageDescriptor *reply);

/* Frees the reply and forgets how the call ended; what was asked stays. */
WD_PUBLIC void wd_rpc_done(wd_rpc *rpc);

#if defined(__cplusplus)
}
#endif

#endif
