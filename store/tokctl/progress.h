/* progress.h - how far bulk work has come, on standard error, for a terminal alone.
 *
 * Threads: one.  Owns: nothing. */
#ifndef WD_TOKCTL_PROGRESS_H
#define WD_TOKCTL_PROGRESS_H

#include "store/tokctl/tokctl.h"

typedef struct wd_progress {
    const char *what; /* "rows" */
    bool shown;       /* is there a terminal that can, and has nobody said --quiet? */
    bool drawn;
    int64_t next_ms;
} wd_progress;

wd_progress wd_progress_begin(const wd_tokctl *ctl, const char *what);

/* So many are done, of so many (0: nobody knows); draws from half a second
 * on, at most ten times a second. */
void wd_progress_show(wd_progress *progress, uint64_t n, uint64_t of);

/* Takes the line away. */
void wd_progress_end(wd_progress *progress);

#endif
