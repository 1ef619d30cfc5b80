/* How an action ended, in words. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "server/service/ending.h"

#define C(name)     WARDED__EXEC__V1__DONE__CAUSE__##name
#define EXITED(n)   ((n) << 8)
#define SIGNALED(n) (n)
#define QUIET       true
#define TOLD        false /* on stderr */

static const wd_action_limits usual = {
    .wall_ms = 10000,
    .cpu_ms = 700,
    .memory_bytes = 512U << 20,
    .pids = 64,
    .files_bytes = 1000,
    .output_bytes = 64U << 10,
};
static const wd_action_limits odd = {
    .wall_ms = 1,
    .cpu_ms = 1230,
    .memory_bytes = (512U << 20) + 1,
    .pids = UINT64_MAX,
    .files_bytes = UINT64_MAX,
    .output_bytes = 1025U << 10,
};

static const struct {
    const char *name;
    const wd_action_limits *limits;
    int cause, wait_status;
    uint64_t run_us;
    bool silent;
    const char *want;
} cases[] = {
    {"well", &usual, C(NONE), EXITED(0), 5, QUIET, ""},
    {"well, with words on stderr", &usual, C(NONE), EXITED(0), 5, TOLD, ""},
    {"a code without a word", &usual, C(NONE), EXITED(7), 5, QUIET, "exit code 7"},
    {"the largest code", &usual, C(NONE), EXITED(255), 5, QUIET, "exit code 255"},
    {"a code with a traceback", &usual, C(NONE), EXITED(1), 5, TOLD, ""},
    {"a signal", &usual, C(NONE), SIGNALED(SIGSEGV), 5, QUIET,
     "ended by signal 11 (SIGSEGV)"},
    {"a signal after words", &usual, C(NONE), SIGNALED(SIGABRT), 5, TOLD,
     "ended by signal 6 (SIGABRT)"},
    {"a signal with a core", &usual, C(NONE), SIGNALED(SIGSEGV) | 0x80, 5, QUIET,
     "ended by signal 11 (SIGSEGV)"},
    {"a signal without a name", &usual, C(NONE), SIGNALED(40), 5, QUIET,
     "ended by signal 40"},
    {"wall", &usual, C(WALL), SIGNALED(9), 10000 * 1000, QUIET,
     "stopped: run time limit of 10 s"},
    {"wall, after words", &usual, C(WALL), SIGNALED(9), 10050 * 1000, TOLD,
     "stopped: run time limit of 10 s"},
    {"wall, a part of a millisecond early", &usual, C(WALL), SIGNALED(9),
     10000 * 1000 - 700, QUIET, "stopped: run time limit of 10 s"},
    {"wall of 1 ms", &odd, C(WALL), SIGNALED(9), 0, QUIET,
     "stopped: run time limit of 0.001 s"},
    {"the call's deadline", &usual, C(WALL), SIGNALED(9), 3000 * 1000, QUIET,
     "stopped: the deadline of the call"},
    {"cpu", &usual, C(CPU), SIGNALED(9), 5, QUIET,
     "stopped: processor time limit of 0.7 s"},
    {"cpu of 1230 ms", &odd, C(CPU), SIGNALED(SIGXCPU), 5, QUIET,
     "stopped: processor time limit of 1.23 s"},
    {"memory", &usual, C(MEMORY), SIGNALED(9), 5, QUIET,
     "stopped: memory limit of 512 MiB"},
    {"memory that is no round number", &odd, C(MEMORY), SIGNALED(9), 5, QUIET,
     "stopped: memory limit of 536870913 bytes"},
    {"pids", &usual, C(PIDS), EXITED(1), 5, TOLD,
     "failed: limit of 64 processes and threads"},
    {"most pids", &odd, C(PIDS), EXITED(1), 5, TOLD,
     "failed: limit of 18446744073709551615 processes and threads"},
    {"output", &usual, C(OUTPUT), SIGNALED(9), 5, QUIET,
     "stopped: wrote far more than the 64 KiB that are kept"},
    {"output of 1025 KiB", &odd, C(OUTPUT), SIGNALED(9), 5, QUIET,
     "stopped: wrote far more than the 1025 KiB that are kept"},
    {"file size", &usual, C(FILESIZE), SIGNALED(25), 5, QUIET,
     "stopped: file size limit of 1000 bytes"},
    {"the largest file size", &odd, C(FILESIZE), SIGNALED(25), 5, QUIET,
     "stopped: file size limit of 18446744073709551615 bytes"},
    {"cancelled", &usual, C(CANCEL), SIGNALED(9), 5, QUIET, ""},
    {"a cause of a later version", &usual, 99, EXITED(3), 5, QUIET, "exit code 3"},
};

static void endings_are_told_as_the_table_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        Warded__Exec__V1__Done done = WARDED__EXEC__V1__DONE__INIT;
        const wd_ending ending = {&done, *cases[i].limits, cases[i].silent};
        char text[WD_ENDING_BYTES];

        print_message("  %s\n", cases[i].name);
        done.outcome = WARDED__EXEC__V1__DONE__OUTCOME__ENDED;
        done.cause = (Warded__Exec__V1__Done__Cause)cases[i].cause;
        done.wait_status = cases[i].wait_status;
        done.run_us = cases[i].run_us;
        memset(text, 'x', sizeof(text));
        wd_ending_text(&ending, text);
        assert_string_equal(text, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endings_are_told_as_the_table_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
