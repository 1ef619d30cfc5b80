/* cause.h - why a TLS peer was turned away, as a closed list.
 *
 * Each cause has a name (lower_snake, for the audit row's reason) and the TLS alert that
 * is sent for it. An alert of 0 means that none is sent by the judge: the peer has not
 * got far enough to read one, or mbedTLS has already sent its own.
 *
 * Threads: any.  Owns: nothing.
 * Source:  RFC 8446 section 6.2 for the alerts. */
#ifndef WD_TLS_CAUSE_H
#define WD_TLS_CAUSE_H

#include <stdint.h>

/* name, text, alert */
#define WD_TLS_CAUSE_MAP(X)                                                            \
    X(NONE, "none", 0)                                                                 \
    X(NO_CERTIFICATE, "no_certificate", 116)                                           \
    X(UNKNOWN_CA, "unknown_ca", 48)                                                    \
    X(BAD_SIGNATURE, "bad_signature", 42) /* foreign CA that bears our CA's name */    \
    X(EXPIRED, "expired", 45)                                                          \
    X(NOT_YET_VALID, "not_yet_valid", 46)                                              \
    X(NO_SAN, "no_san", 42)       /* no URI among the subject alternative names */     \
    X(MANY_URIS, "many_uris", 42) /* more than one */                                  \
    X(BAD_SAN, "bad_san", 42)     /* not a SPIFFE id of ours, or not DER */            \
    X(BAD_FACT, "bad_fact", 42)   /* a fact twice, not a UTF8String, too long */       \
    X(BAD_USAGE, "bad_usage", 43) /* key usage or extended key usage */                \
    X(CA_CERTIFICATE, "ca_certificate", 43)                                            \
    X(WEAK_KEY, "weak_key", 43) /* not P-256, or a digest below SHA-256 */             \
    X(UNREADABLE, "unreadable_certificate", 42)                                        \
    X(HUGE_CHAIN, "huge_chain", 0) /* above mbedTLS's 16,384 bytes of a message */     \
    X(DENIED, "denied", 46)        /* on the deny list, or check_peer said no */       \
    X(SLOT_UID, "slot_uid", 46)    /* the peer's socket belongs to sandboxed code */   \
    X(NO_OWNER, "no_owner", 46)    /* a local address, and no socket of this host's */ \
    X(PROTOCOL, "protocol", 0)                                                         \
    X(PEER_ALERT, "peer_alert", 0) /* the peer refused us */                           \
    X(DISCONNECTED, "disconnected", 0)                                                 \
    X(HANDSHAKE_TIMEOUT, "handshake_timeout", 0)                                       \
    X(GREETING_TIMEOUT, "greeting_timeout", 0)                                         \
    X(SEND_STALLED, "send_stalled", 0)                                                 \
    X(HALF_OPEN_LIMIT, "half_open_limit", 0) /* gave its place to a newer one */       \
    X(FRAME_TIMEOUT, "frame_timeout", 0)     /* a message that does not go on */       \
    X(REQUEST_BYTES, "request_bytes", 0)     /* no budget for the message announced */ \
    X(REQUEST_SHARE, "request_share", 0)     /* nor its principal's share of it */     \
    X(REQUEST_YIELDED, "request_yielded", 0) /* gave its message up: holds most */     \
    X(REPLY_YIELDED, "reply_yielded", 0)     /* gave its replies up: holds most */     \
    X(RESOURCES, "resources", 0)                                                       \
    X(CUT_OFF, "cut_off", 0) /* by the owner of the binding, who tells why */

typedef enum wd_tls_cause {
#define X(name, text, alert) WD_TLS_##name,
    WD_TLS_CAUSE_MAP(X)
#undef X
} wd_tls_cause;

/* "unknown_ca"; "unknown" for a number that no cause has. Static. */
const char *wd_tls_cause_name(wd_tls_cause cause);

/* The alert sent for it; 0: none. */
uint8_t wd_tls_cause_alert(wd_tls_cause cause);

#endif
