/* slot_fault.h - how code that runs inside warded-slot says what could not be done.
 *
 * warded-slot links nothing of ours but layer.c, so it has a failure of its own: the
 * layer, errno and what was attempted, small enough for one report on a pipe.
 *
 * Threads: any.  Owns: nothing. */
#ifndef WD_EXECUTOR_SLOT_FAULT_H
#define WD_EXECUTOR_SLOT_FAULT_H

#include "server/executor/layer.h"
#include "server/executor/slot_spec.h"

#include <stdbool.h>

typedef struct wd_slot_fault {
    wd_layer_id layer;
    int error; /* errno */
    char what[sizeof(((wd_slot_report *)0)->what)];
} wd_slot_fault;

/* Fill *fault with the layer, errno as it stands and the text; always false, so that
 * a failure is one line:  return wd_slot_fail(fault, WD_LAYER_PROC, "mount /proc"); */
bool wd_slot_fail(wd_slot_fault *fault, wd_layer_id layer, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Write one report to `fd`. What can't be written is seen as a lost slot. */
void wd_slot_send_fault(int fd, const wd_slot_fault *fault);
/* `end`: of kind WD_SLOT_ENDED. */
void wd_slot_send_end(int fd, const wd_slot_report *end);

#endif
