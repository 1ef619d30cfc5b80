/* measure.h - clocks, waits, and a turn's figures as tests/bench/place.py reads them.
 *
 * Threads: any; pure but for the waiting and the printing. */
#ifndef WD_BENCH_MEASURE_H
#define WD_BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>

int64_t wd_bench_now_ns(void); /* monotonic */
void wd_bench_sleep_until(int64_t ns);
double wd_bench_cpu_us(void); /* of this process, until now */

typedef struct wd_bench_turn {
    int64_t *latencies_ns; /* of what counts; sorted by the printing */
    size_t n;
    double seconds;
    double used_us; /* of processors, in these seconds */
    uint64_t calls; /* with those that do not count */
} wd_bench_turn;

/* Prints it as one JSON object. The exit status of the program: 1 when nothing counts. */
int wd_bench_print(const wd_bench_turn *turn);

#endif
