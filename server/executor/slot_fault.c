#include "server/executor/slot_fault.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool wd_slot_fail(wd_slot_fault *fault, wd_layer_id layer, const char *fmt, ...)
{
    fault->layer = layer;
    fault->error = errno;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(fault->what, sizeof(fault->what), fmt, args);
    va_end(args);
    return false;
}

static void send_report(int fd, const wd_slot_report *report)
{
    if (write(fd, report, sizeof(*report)) < 0)
        return; /* nobody listens any more */
}

void wd_slot_send_fault(int fd, const wd_slot_fault *fault)
{
    wd_slot_report report = {
        .kind = WD_SLOT_FAULT, .layer = (int32_t)fault->layer, .error = fault->error};
    memcpy(report.what, fault->what, sizeof(report.what));
    send_report(fd, &report);
}

void wd_slot_send_end(int fd, const wd_slot_report *end)
{
    send_report(fd, end);
}
