/* slot_probe.h - one wall at a time, for real: `warded-slot --probe LAYER`.
 *
 * Threads: one.  Owns: nothing that outlives the process. */
#ifndef WD_EXECUTOR_SLOT_PROBE_H
#define WD_EXECUTOR_SLOT_PROBE_H

#include "server/executor/slot_spec.h"

/* Try the layer called `name` with the descriptors of slot_spec.h (spec, filter,
 * report) and send one report: ENDED it is there, FAULT it is not. Returns the exit
 * status: 0 there, 1 not, 64 no such layer. */
int wd_slot_probe(const wd_slot_spec *spec, const char *name);

#endif
