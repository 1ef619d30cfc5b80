/* skewed_clock.so - LD_PRELOAD: the program's wall clock is WARDED_TEST_SKEW_S seconds
 * off; its monotonic clocks are as they are. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

static time_t skew_s(void)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets it while it is read */
    const char *text = getenv("WARDED_TEST_SKEW_S");
    return text != NULL ? (time_t)strtoll(text, NULL, 10) : 0;
}

SHOWN int clock_gettime(clockid_t clock_id, struct timespec *tp)
{
    int rv = (int)syscall(SYS_clock_gettime, clock_id, tp);
    if (rv == 0 && (clock_id == CLOCK_REALTIME || clock_id == CLOCK_REALTIME_COARSE))
        tp->tv_sec += skew_s();
    return rv;
}

SHOWN time_t time(time_t *timer)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (timer != NULL)
        *timer = now.tv_sec;
    return now.tv_sec;
}

SHOWN int gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
    struct timespec now = {0};
    (void)tz;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    tv->tv_sec = now.tv_sec;
    tv->tv_usec = now.tv_nsec / 1000;
    return 0;
}
