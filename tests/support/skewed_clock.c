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

SHOWN int clock_gettime(clockid_t clock, struct timespec *now)
{
    int rv = (int)syscall(SYS_clock_gettime, clock, now);
    if (rv == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += skew_s();
    return rv;
}

SHOWN time_t time(time_t *ret_now)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (ret_now != NULL)
        *ret_now = now.tv_sec;
    return now.tv_sec;
}

SHOWN int gettimeofday(struct timeval *restrict ret_now, void *restrict zone)
{
    struct timespec now = {0};
    (void)zone;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    ret_now->tv_sec = now.tv_sec;
    ret_now->tv_usec = now.tv_nsec / 1000;
    return 0;
}
