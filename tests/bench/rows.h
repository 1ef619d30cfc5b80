/* rows.h - rows of a trail as the gate's calls leave them, for benchmarks of the store.
 *
 * Threads: any; pure. */
#ifndef WD_BENCH_ROWS_H
#define WD_BENCH_ROWS_H

#include "store/audit.h"

typedef struct wd_bench_texts {
    char call[48], trajectory[40];
} wd_bench_texts;

/* Number i: begin and end of calls by turns. Borrows *texts, which it fills. */
wd_audit_row wd_bench_row(uint64_t i, wd_bench_texts *texts);

#endif
