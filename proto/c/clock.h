/* clock.h - the time, as a parameter.
 *
 * Records carry wall time, deadlines are monotonic. Below main nobody asks the system:
 * a `const wd_clock *` is passed, so that tests turn it as they like. A test's clock
 * embeds wd_clock as its first member.
 *
 * Threads: any; a clock of one's own must be safe where it is used. */
#ifndef WD_CLOCK_H
#define WD_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

typedef struct wd_clock {
    int64_t (*wall_ms)(const struct wd_clock *clock); /* Unix milliseconds */
    int64_t (*mono_ms)(const struct wd_clock *clock); /* CLOCK_MONOTONIC */
    int64_t (*mono_ns)(const struct wd_clock *clock); /* CLOCK_MONOTONIC */
} wd_clock;

/* The system's clocks; static. */
const wd_clock *wd_clock_system(void);

static inline int64_t wd_clock_wall_ms(const wd_clock *clock)
{
    return clock->wall_ms(clock);
}

static inline int64_t wd_clock_mono_ms(const wd_clock *clock)
{
    return clock->mono_ms(clock);
}

static inline int64_t wd_clock_mono_ns(const wd_clock *clock)
{
    return clock->mono_ns(clock);
}

#define WD_UTC_BYTES 25U /* "2026-11-30T02:00:00.123Z" and the NUL */

/* Unix milliseconds as text. false, and "": before 1970 or after 9999. */
bool wd_clock_format(int64_t ms, char ret_text[WD_UTC_BYTES]);

#endif
