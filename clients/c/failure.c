#include "clients/c/failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "proto/c/mask.h"
#include "proto/c/utf8.h"

/* --- making one -------------------------------------------------------------------- */

static wd_status finish(wd_failure *why, wd_phase phase, wd_status status,
                        wd_reason reason)
{
    why->code = (uint32_t)status;
    why->reason = (uint32_t)reason;
    why->phase = phase;
    why->alert = 0;
    why->retry_after_ms = 0;
    why->may_have_run = wd_failure_may_have_run(why);
    return status;
}

__attribute__((format(printf, 2, 0))) static void
write_text(wd_failure *why, const char *fmt, va_list args)
{
    (void)vsnprintf(why->message, sizeof(why->message), fmt, args);
    wd_utf8_mend(why->message);
    wd_mask_tokens(why->message);
}

wd_status wd_failure_make(wd_failure *why, wd_phase phase, wd_reason reason,
                          const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    write_text(why, fmt, args);
    va_end(args);
    return finish(why, phase, wd_reason_status(reason), reason);
}

wd_status wd_failure_plain(wd_failure *why, wd_phase phase, wd_status status,
                           const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    write_text(why, fmt, args);
    va_end(args);
    return finish(why, phase, status, WD_REASON_NONE);
}

wd_status wd_failure_from(wd_failure *why, wd_phase phase, const char *prefix,
                          const wd_error *err)
{
    (void)snprintf(why->message, sizeof(why->message), "%.400s%s%s",
                   prefix != NULL ? prefix : "", prefix != NULL ? ": " : "", err->msg);
    wd_mask_tokens(why->message);
    return finish(why, phase, err->status, err->reason);
}

wd_status wd_failure_unreachable(wd_failure *why, wd_phase phase, const char *text)
{
    return wd_failure_make(why, phase, WD_REASON_UNREACHABLE,
                           "%s; not sent, safe to retry", text);
}

/* --- what it means ----------------------------------------------------------------- */

static bool never_ran(uint32_t reason)
{
    return reason == WD_REASON_CLOCK_SKEW || reason == WD_REASON_CALL_ID_EXPIRED ||
           reason == WD_REASON_QUEUE_TIMEOUT || reason == WD_REASON_UNREACHABLE ||
           reason == WD_REASON_TLS_REFUSED || reason == WD_REASON_AUDIT_UNWRITABLE ||
           reason == WD_REASON_SANDBOX_UNAVAILABLE || reason == WD_REASON_DRAINING;
}

static bool leaves_doubt(uint32_t code)
{
    return code == WD_ABORTED || code == WD_CANCELLED || code == WD_DATA_LOSS ||
           code == WD_DEADLINE_EXCEEDED || code == WD_INTERNAL || code == 2;
}

bool wd_failure_may_have_run(const wd_failure *why)
{
    if (why->phase == WD_PHASE_WAIT)
        return !never_ran(why->reason);
    return why->phase == WD_PHASE_REMOTE && !never_ran(why->reason) &&
           leaves_doubt(why->code);
}

const char *wd_phase_name(wd_phase phase)
{
    static const char *const names[] = {"none", "profile", "resolve", "connect",
                                        "tls",  "host",    "auth",    "send",
                                        "wait", "remote"};
    return (size_t)phase < sizeof(names) / sizeof(names[0]) ? names[phase] : "unknown";
}

/* gRPC's names, by number. */
static const char *const codes[] = {"OK",
                                    "CANCELLED",
                                    "UNKNOWN",
                                    "INVALID_ARGUMENT",
                                    "DEADLINE_EXCEEDED",
                                    "NOT_FOUND",
                                    "ALREADY_EXISTS",
                                    "PERMISSION_DENIED",
                                    "RESOURCE_EXHAUSTED",
                                    "FAILED_PRECONDITION",
                                    "ABORTED",
                                    "OUT_OF_RANGE",
                                    "UNIMPLEMENTED",
                                    "INTERNAL",
                                    "UNAVAILABLE",
                                    "DATA_LOSS",
                                    "UNAUTHENTICATED"};
#define N_CODES (sizeof(codes) / sizeof(codes[0]))

const char *wd_failure_reason(const wd_failure *failure, char ret_text[16])
{
    if (failure->reason != WD_REASON_NONE &&
        wd_reason_status((wd_reason)failure->reason) == (wd_status)failure->code)
        return wd_reason_name((wd_reason)failure->reason);
    if (failure->reason == WD_REASON_NONE && failure->code < N_CODES)
        return codes[failure->code];
    (void)snprintf(ret_text, 16, "REASON_%u", failure->reason);
    return ret_text;
}

static const struct {
    wd_reason reason;
    const char *cure;
} cures[] = {
    {WD_REASON_TOKEN_MISSING, "write a token into the profile's token file"},
    {WD_REASON_TOKEN_MALFORMED, "the token file must hold one whole token"},
    {WD_REASON_TOKEN_UNKNOWN, "ask for a new token; this gate does not know yours"},
    {WD_REASON_TOKEN_EXPIRED, "ask for a new token, and renew it in time"},
    {WD_REASON_TOKEN_NOT_YET, "wait until the token holds, or check both clocks"},
    {WD_REASON_TOKEN_REVOKED, "ask whoever revoked it; get a new token"},
    {WD_REASON_TOKEN_RETIRED, "take the token that it was rotated into"},
    {WD_REASON_TOKEN_NOT_YOURS, "use the certificate that the token is bound to"},
    {WD_REASON_TOKEN_AUDIENCE, "the token is for another gate: dial that one"},
    {WD_REASON_IDENTITY_DENIED, "the gate denies this identity: ask its operator"},
    {WD_REASON_SCOPE_MISSING, "ask for a token with the scope that the message names"},
    {WD_REASON_METHOD_UNKNOWN, "check the method's name, and what your token allows"},
    {WD_REASON_HOST_NOT_ADOPTED,
     "trust this gate in the profile's policy file, or none"},
    {WD_REASON_QUEUE_FULL, "wait as long as it says, then call again"},
    {WD_REASON_QUOTA, "wait as long as it says, then call again"},
    {WD_REASON_TOKEN_USES_SPENT, "the token is used up: ask for a new one"},
    {WD_REASON_TOO_LARGE, "send less in one call"},
    {WD_REASON_CLOCK_SKEW, "set this host's clock"},
    {WD_REASON_TOKEN_ID_UNKNOWN, "see the ids that there are: tokctl list"},
    {WD_REASON_FORKED, "exec after fork, and open a channel there"},
    {WD_REASON_OUTCOME_UNKNOWN, "look for the call id in the audit trail first"},
    {WD_REASON_REPLY_EVICTED, "look for the call id in the audit trail first"},
    {WD_REASON_AUDIT_UNWRITABLE, "the gate's disk is full or broken: its operator"},
    {WD_REASON_DRAINING, "the gate is stopping: call again in a moment"},
    {WD_REASON_UNREACHABLE, "start the gate, or correct the profile's server file"},
    {WD_REASON_TLS_REFUSED, "the gate's audit trail says why it refused us"},
    {WD_REASON_NOT_BUILT, "this gate is older than the method"},
};

const char *wd_failure_cure(const wd_failure *failure)
{
    for (size_t i = 0; i < sizeof(cures) / sizeof(cures[0]); i++)
        if ((uint32_t)cures[i].reason == failure->reason)
            return cures[i].cure;
    if (failure->phase == WD_PHASE_PROFILE)
        return "mend the file that the message names, as it says";
    return failure->code == 0 ? "nothing: it succeeded" : "see the message";
}
