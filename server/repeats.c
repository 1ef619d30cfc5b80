#include "server/repeats.h"

#include "proto/c/clock.h"
#include "server/log.h"

bool wd_repeats_again(wd_repeats *repeats, int64_t now_ms)
{
    repeats->times++;
    if (repeats->next_ms != 0 && now_ms < repeats->next_ms)
        return false;
    repeats->next_ms = now_ms + WD_REPEATS_MS;
    repeats->told = true;
    return true;
}

uint64_t wd_repeats_over(wd_repeats *repeats)
{
    if (!repeats->told)
        return 0;
    uint64_t times = repeats->times;
    repeats->times = 0;
    repeats->told = false;
    return times;
}

void wd_repeats_log(wd_repeats *repeats, const char *event, const char *of,
                    const char *why)
{
    const wd_log_field fields[] = {WD_KV("why", why),
                                   WD_KN("times", repeats->times + 1), WD_KV("of", of)};
    if (wd_repeats_again(repeats, wd_clock_mono_ms(wd_clock_system())))
        wd_log_write(WD_LOG_ERROR, event, fields, of != NULL ? 3 : 2);
}

void wd_repeats_log_over(wd_repeats *repeats, const char *event)
{
    uint64_t times = wd_repeats_over(repeats);
    if (times > 0)
        wd_log(WD_LOG_INFO, event, WD_KN("times", times));
}
