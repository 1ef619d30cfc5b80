/* warded-slot - one action in one sandbox. Started by warded-execd, never by hand: its
 * parameters are the descriptors of slot_spec.h, its environment is empty. */
#include "server/executor/slot_init.h"
#include "server/executor/slot_outer.h"
#include "server/executor/slot_probe.h"

#include <linux/sched.h>
#include <stdio.h>
#include <string.h>

static int run_action(const wd_slot_spec *spec)
{
    wd_slot_fault fault;
    int status = 0;
    const wd_slot_child init = {WD_SLOT_NAMESPACES, wd_slot_init_run, NULL};
    if (wd_slot_outer_run(spec, &init, &status, &fault))
        return 0;
    wd_slot_send_fault(WD_SLOT_REPORT_FD, &fault);
    return 1;
}

int main(int argc, char **argv)
{
    wd_slot_spec spec;
    wd_slot_fault fault;
    if (!wd_slot_read_spec(&spec, &fault)) {
        (void)fputs("warded-slot: started by warded-execd, not by hand\n", stderr);
        return 64;
    }
    if (argc == 3 && strcmp(argv[1], "--probe") == 0)
        return wd_slot_probe(&spec, argv[2]);
    return run_action(&spec);
}
