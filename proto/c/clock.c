#include "proto/c/clock.h"

#include <time.h>

#include "proto/c/status.h"

static int64_t read_ns(clockid_t id)
{
    struct timespec now;
    int failed = clock_gettime(id, &now);
    WD_ASSERT(failed == 0); /* both clocks exist on every Linux */
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t wall_ms(const wd_clock *clock)
{
    (void)clock;
    return read_ns(CLOCK_REALTIME) / 1000000;
}

static int64_t mono_ms(const wd_clock *clock)
{
    (void)clock;
    return read_ns(CLOCK_MONOTONIC) / 1000000;
}

static int64_t mono_ns(const wd_clock *clock)
{
    (void)clock;
    return read_ns(CLOCK_MONOTONIC);
}

static const wd_clock system_clock = {
    .wall_ms = wall_ms,
    .mono_ms = mono_ms,
    .mono_ns = mono_ns,
};

const wd_clock *wd_clock_system(void)
{
    return &system_clock;
}
