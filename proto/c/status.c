#include "proto/c/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void fill(wd_error *err, wd_status status, const char *fmt, va_list args)
{
    (void)vsnprintf(err->msg, sizeof(err->msg), fmt, args);
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

const char *wd_status_text(wd_status status)
{
    switch (status) {
#define X(name, number, text)                                                          \
    case name:                                                                         \
        return text;
        WD_STATUS_MAP(X)
#undef X
    }
    return "unknown status";
}

const char *wd_reason_name(wd_reason reason)
{
    switch (reason) {
    case WD_REASON_NONE:
        return "NONE";
#define X(name, number, status)                                                        \
    case WD_REASON_##name:                                                             \
        return #name;
        WD_REASON_MAP(X)
#undef X
    }
    return "UNKNOWN";
}

wd_status wd_reason_status(wd_reason reason)
{
    switch (reason) {
    case WD_REASON_NONE:
        return WD_INTERNAL;
#define X(name, number, status)                                                        \
    case WD_REASON_##name:                                                             \
        return status;
        WD_REASON_MAP(X)
#undef X
    }
    return WD_INTERNAL;
}

void wd_assert_failed(const char *cond, const char *file, int line)
{
    (void)fprintf(stderr, "level=fatal event=assert file=%s line=%d cond=\"%s\"\n",
                  file, line, cond);
    abort();
}
