#include "proto/c/clock.h"

#include <stdio.h>
#include <time.h>

#include "proto/c/status.h"

static struct timespec read_clock(clockid_t id)
{
    struct timespec now;
    int failed = clock_gettime(id, &now);
    WD_ASSERT(failed == 0); /* both clocks exist on every Linux */
    return now;
}

/* Not by way of nanoseconds, of which 64 bits end in 2262. */
static int64_t read_ms(clockid_t id)
{
    const struct timespec now = read_clock(id);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t wall_ms(const wd_clock *clock)
{
    (void)clock;
    return read_ms(CLOCK_REALTIME);
}

static int64_t mono_ms(const wd_clock *clock)
{
    (void)clock;
    return read_ms(CLOCK_MONOTONIC);
}

static int64_t mono_ns(const wd_clock *clock)
{
    (void)clock;
    const struct timespec now = read_clock(CLOCK_MONOTONIC);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
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

bool wd_clock_format(int64_t ms, char ret_text[WD_UTC_BYTES])
{
    char text[WD_UTC_BYTES];
    struct tm utc;
    time_t seconds = (time_t)(ms / 1000);
    ret_text[0] = '\0';
    if (ms < 0 || gmtime_r(&seconds, &utc) == NULL || utc.tm_year > 8099 ||
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc) == 0)
        return false;
    (void)snprintf(ret_text, WD_UTC_BYTES, "%.19s.%03dZ", text, (int)(ms % 1000));
    return true;
}
