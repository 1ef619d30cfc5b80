#include "tests/bench/measure.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "proto/c/clock.h"

int64_t wd_bench_now_ns(void)
{
    return wd_clock_mono_ns(wd_clock_system());
}

void wd_bench_sleep_until(int64_t ns)
{
    const struct timespec at = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0) {
    }
}

double wd_bench_cpu_us(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int wd_bench_print(const wd_bench_turn *turn)
{
    const size_t n = turn->n;
    if (n == 0)
        return 1;
    qsort(turn->latencies_ns, n, sizeof(*turn->latencies_ns), compare);
    const size_t middle = n / 2;
    const size_t late = n * 99 / 100;
    (void)printf("{\"rate\": %.1f, \"p50_us\": %.1f, \"p99_us\": %.1f, "
                 "\"client_us\": %.2f, \"calls\": %" PRIu64 "}\n",
                 (double)n / turn->seconds, (double)turn->latencies_ns[middle] / 1e3,
                 (double)turn->latencies_ns[late] / 1e3, turn->used_us / (double)n,
                 turn->calls);
    return 0;
}
