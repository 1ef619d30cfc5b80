/* canary.h - an action of our own that attacks, before anyone else's may run.
 *
 * It tries the real things against bait that we set out for it: a listening TCP port, an
 * abstract socket, a secret file, our own process; and calls that must be refused; and
 * reads its own ids, capabilities and filter from the kernel. It leaves a child behind
 * which must not outlive it. Any surprise and nothing runs.
 *
 * Threads: one.  Owns: the bait. */
#ifndef WD_EXECUTOR_CANARY_H
#define WD_EXECUTOR_CANARY_H

#include "proto/c/buffer.h"
#include "server/executor/run.h"

typedef struct wd_canary wd_canary;

/* Set out the bait; its file is in places.run_dir.
 * Errors: UNAVAILABLE "canary: ..." the bait can't be made */
WD_MUST_USE wd_status wd_canary_new(const wd_config *config, wd_canary **ret_canary,
                                    wd_error *err);
void wd_canary_free(wd_canary *canary);
WD_DEFINE_AUTO(wd_canary, wd_canary_free)

/* The action, for a slot; borrowed from the canary. */
wd_action wd_canary_action(const wd_canary *canary);

/* Judge how it ended.
 * Errors: UNAVAILABLE the text begins with the layer */
WD_MUST_USE wd_status wd_canary_judge(const wd_canary *canary,
                                      const wd_run_result *result, wd_error *err);

#endif
