#include "server/service/ending.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define CAUSE(name)  WARDED__EXEC__V1__DONE__CAUSE__##name
#define AMOUNT_BYTES 32U

/* "512 MiB", "64 KiB", "1000 bytes": never rounded. */
static void bytes_text(uint64_t bytes, char out[AMOUNT_BYTES])
{
    if (bytes % (1U << 20) == 0)
        (void)snprintf(out, AMOUNT_BYTES, "%" PRIu64 " MiB", bytes >> 20);
    else if (bytes % (1U << 10) == 0)
        (void)snprintf(out, AMOUNT_BYTES, "%" PRIu64 " KiB", bytes >> 10);
    else
        (void)snprintf(out, AMOUNT_BYTES, "%" PRIu64 " bytes", bytes);
}

/* "2 s", "0.7 s", "0.001 s". */
static void time_text(uint64_t ms, char out[AMOUNT_BYTES])
{
    (void)snprintf(out, AMOUNT_BYTES, "%" PRIu64 ".%03u", ms / 1000,
                   (unsigned)(ms % 1000));
    size_t size = strlen(out);
    while (out[size - 1] == '0')
        size--;
    if (out[size - 1] == '.')
        size--;
    memcpy(out + size, " s", sizeof(" s"));
}

static void count_text(uint64_t count, char out[AMOUNT_BYTES])
{
    (void)snprintf(out, AMOUNT_BYTES, "%" PRIu64, count);
}

/* One line a limit: what is said when it ended an action. */
static const struct {
    Warded__Exec__V1__Done__Cause cause;
    size_t limit; /* where it is in wd_action_limits */
    void (*amount)(uint64_t value, char out[AMOUNT_BYTES]);
    const char *before, *after;
} limits[] = {
    {CAUSE(WALL), offsetof(wd_action_limits, wall_ms), time_text,
     "stopped: run time limit of ", ""},
    {CAUSE(CPU), offsetof(wd_action_limits, cpu_ms), time_text,
     "stopped: processor time limit of ", ""},
    {CAUSE(MEMORY), offsetof(wd_action_limits, memory_bytes), bytes_text,
     "stopped: memory limit of ", ""},
    {CAUSE(PIDS), offsetof(wd_action_limits, pids), count_text, "failed: limit of ",
     " processes and threads"},
    {CAUSE(OUTPUT), offsetof(wd_action_limits, output_bytes), bytes_text,
     "stopped: wrote far more than the ", " that are kept"},
    {CAUSE(FILESIZE), offsetof(wd_action_limits, files_bytes), bytes_text,
     "stopped: file size limit of ", ""},
};

/* false: no limit did it. */
static bool say_limit(const wd_ending *ending, char *out)
{
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        char amount[AMOUNT_BYTES];
        uint64_t value;
        if (limits[i].cause != ending->done->cause)
            continue;
        memcpy(&value, (const char *)&ending->limits + limits[i].limit, sizeof(value));
        limits[i].amount(value, amount);
        (void)snprintf(out, WD_ENDING_BYTES, "%s%s%s", limits[i].before, amount,
                       limits[i].after);
        return true;
    }
    return false;
}

/* Time is up for one of two reasons: the action's own limit, or its call's deadline
 * before that. The executor counts whole milliseconds, and may so be one early. */
static bool by_deadline(const wd_ending *ending)
{
    return ending->done->cause == CAUSE(WALL) &&
           ending->done->run_us / 1000 + 1 < ending->limits.wall_ms;
}

static void say_exit(const wd_ending *ending, char *out)
{
    int status = ending->done->wait_status;

    if (WIFSIGNALED(status)) {
        const char *name = sigabbrev_np(WTERMSIG(status));
        (void)snprintf(out, WD_ENDING_BYTES, "ended by signal %d%s%s%s",
                       WTERMSIG(status), name != NULL ? " (SIG" : "",
                       name != NULL ? name : "", name != NULL ? ")" : "");
    } else if (WEXITSTATUS(status) != 0 && ending->silent) {
        (void)snprintf(out, WD_ENDING_BYTES, "exit code %d", WEXITSTATUS(status));
    }
}

void wd_ending_text(const wd_ending *ending, char ret[WD_ENDING_BYTES])
{
    ret[0] = '\0';
    if (ending->done->cause == CAUSE(CANCEL))
        return;
    if (by_deadline(ending))
        (void)snprintf(ret, WD_ENDING_BYTES, "stopped: the deadline of the call");
    else if (!say_limit(ending, ret))
        say_exit(ending, ret);
}
