#include "clients/c/refused.h"

#include <stdio.h>

void wd_refusal_host(wd_refusal *refusal, const wd_error *err)
{
    if (refusal->kind != WD_REFUSAL_NONE)
        return;
    refusal->kind = WD_REFUSAL_HOST;
    (void)snprintf(refusal->text, sizeof(refusal->text), "%s", err->msg);
}

void wd_refusal_tls(wd_refusal *refusal, wd_tls_cause cause, uint8_t alert,
                    const char *detail)
{
    if (refusal->kind != WD_REFUSAL_NONE)
        return;
    refusal->kind = WD_REFUSAL_TLS;
    refusal->cause = cause;
    refusal->alert = alert;
    (void)snprintf(refusal->text, sizeof(refusal->text), "%s", detail);
}

/* That it carries exactly one client's SPIFFE id was seen before it was sent. */
#define NOT_SIGNED                                                                     \
    "cert.pem is not signed by the gate's CA, though perhaps by another of the same "  \
    "name: make the profile with `warded profile new` at this gate"

static const struct {
    uint8_t alert;
    const char *name, *cure;
} alerts[] = {
    {116, "certificate_required", "the profile's cert.pem was not presented"},
    {48, "unknown_ca", "cert.pem must be signed by the gate's CA"},
    {45, "certificate_expired", "renew the profile's cert.pem (and check both clocks)"},
    {42, "bad_certificate", NOT_SIGNED},
    {51, "decrypt_error", NOT_SIGNED}, /* an OpenSSL's word for it */
    {43, "unsupported_certificate", "cert.pem must be a P-256 client certificate"},
    {46, "certificate_unknown", "the gate denies this identity; see its audit trail"},
    {70, "protocol_version", "the gate must allow TLS 1.3"},
};

static wd_status tell_alert(const wd_refusal *refusal, const char *address,
                            wd_failure *why)
{
    const char *name = NULL, *cure = "the gate's audit trail says why";
    char number[16];
    for (size_t i = 0; i < sizeof(alerts) / sizeof(alerts[0]); i++) {
        if (alerts[i].alert != refusal->alert)
            continue;
        name = alerts[i].name;
        cure = alerts[i].cure;
    }
    (void)snprintf(number, sizeof(number), "alert %u", refusal->alert);
    wd_status status = wd_failure_make(why, WD_PHASE_TLS, WD_REASON_TLS_REFUSED,
                                       "%s refused the handshake: %s; %s; not sent",
                                       address, name != NULL ? name : number, cure);
    why->alert = refusal->alert;
    return status;
}

/* Our own judgement of its certificate, before its policy is asked. */
static bool is_verdict(wd_tls_cause cause)
{
    return cause >= WD_TLS_NO_CERTIFICATE && cause <= WD_TLS_DENIED;
}

wd_status wd_refusal_tell(const wd_refusal *refusal, const char *address,
                          wd_failure *why)
{
    char text[600];
    if (refusal->kind == WD_REFUSAL_HOST)
        return wd_failure_make(why, WD_PHASE_HOST, WD_REASON_HOST_NOT_ADOPTED,
                               "%s: %s; nothing was sent", address, refusal->text);
    if (refusal->cause == WD_TLS_PEER_ALERT)
        return tell_alert(refusal, address, why);
    if (is_verdict(refusal->cause))
        return wd_failure_make(
            why, WD_PHASE_TLS, WD_REASON_HOST_NOT_ADOPTED,
            "%s: its certificate was refused: %s; the profile's ca.pem must be the CA "
            "that signed the gate; nothing was sent",
            address, refusal->text);
    (void)snprintf(text, sizeof(text), "%s: %s (%.200s)", address,
                   refusal->cause == WD_TLS_PROTOCOL
                       ? "it does not speak TLS 1.3"
                       : "it ended the connection during the handshake",
                   refusal->text);
    return wd_failure_unreachable(why, WD_PHASE_TLS, text);
}
