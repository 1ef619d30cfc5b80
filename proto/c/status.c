#include "proto/c/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "proto/c/mask.h"
#include "proto/c/utf8.h"

__attribute__((format(printf, 3, 0))) static void fill(wd_error *err, wd_status status,
                                                       const char *fmt, va_list args)
{
    (void)vsnprintf(err->msg, sizeof(err->msg), fmt, args);
    wd_utf8_mend(err->msg);
    wd_mask_tokens(err->msg);
    err->status = status;
}

wd_status wd_fail(wd_error *err, wd_status status, const char *fmt, ...)
{
    if (err == NULL)
        return status;

    va_list args;
    va_start(args, fmt);
    fill(err, status, fmt, args);
    va_end(args);
    err->reason = WD_REASON_NONE;
    err->retry_after_ms = 0;
    return status;
}

wd_status wd_refuse(wd_error *err, wd_reason reason, const char *fmt, ...)
{
    wd_status status = wd_reason_status(reason);
    if (err == NULL)
        return status;

    va_list args;
    va_start(args, fmt);
    fill(err, status, fmt, args);
    va_end(args);
    err->reason = reason;
    err->retry_after_ms = 0;
    return status;
}

const char *wd_rights_cure(int error)
{
    return error == EACCES || error == EPERM
               ? "; run it as root, or as the account that owns it"
               : "";
}

/* By number; [0] is WD_REASON_NONE. */
static const struct {
    const char *name;
    wd_status status;
} reasons[] = {{"NONE", WD_INTERNAL},
#define X(name, number, status) [number] = {#name, (status)},
               WD_REASON_MAP(X)
#undef X
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *wd_reason_name(wd_reason reason)
{
    return (size_t)reason < COUNT(reasons) ? reasons[reason].name : "UNKNOWN";
}

wd_status wd_reason_status(wd_reason reason)
{
    return (size_t)reason < COUNT(reasons) ? reasons[reason].status : WD_INTERNAL;
}

void wd_assert_failed(const char *cond, const char *file, int line)
{
    (void)fprintf(stderr, "level=fatal event=assert file=%s line=%d cond=\"%s\"\n",
                  file, line, cond);
    abort();
}
