/* exits.h - what each exit status means, for help and the man page.
 *
 * Threads: any; constant.  Owns: nothing. */
#ifndef WD_TOKCTL_EXITS_H
#define WD_TOKCTL_EXITS_H

#include "store/tokctl/tokctl.h"

typedef struct wd_exit_text {
    wd_tokctl_exit status;
    const char *text;
} wd_exit_text;

const wd_exit_text *wd_exit_at(size_t i); /* NULL: past the end */

#endif
