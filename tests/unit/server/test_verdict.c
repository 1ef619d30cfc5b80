/* What an item's end means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/service/verdict.h"

#define S(name)     WARDED__V1__RESULT__STATUS__##name
#define D(name)     WARDED__EXEC__V1__DONE__OUTCOME__##name
#define C(name)     WARDED__EXEC__V1__DONE__CAUSE__##name
#define EXITED(n)   ((n) << 8)
#define SIGNALED(n) (n)

static const struct {
    const char *name;
    wd_job_end end;
    int outcome; /* 0: no answer */
    int cause;
    int wait_status;
    Warded__V1__Result__Status want;
    wd_reason reason;
} cases[] = {
    {"exit 0", WD_JOB_DONE, D(ENDED), C(NONE), EXITED(0), S(OK), WD_REASON_NONE},
    {"exit 1", WD_JOB_DONE, D(ENDED), C(NONE), EXITED(1), S(TOOL_ERROR),
     WD_REASON_NONE},
    {"exit 255", WD_JOB_DONE, D(ENDED), C(NONE), EXITED(255), S(TOOL_ERROR),
     WD_REASON_NONE},
    {"signal 11", WD_JOB_DONE, D(ENDED), C(NONE), SIGNALED(11), S(TOOL_ERROR),
     WD_REASON_NONE},
    {"wall", WD_JOB_DONE, D(ENDED), C(WALL), SIGNALED(9), S(TIMEOUT),
     WD_REASON_RUN_TIMEOUT},
    {"wall, although it said 0", WD_JOB_DONE, D(ENDED), C(WALL), EXITED(0), S(TIMEOUT),
     WD_REASON_RUN_TIMEOUT},
    {"cpu", WD_JOB_DONE, D(ENDED), C(CPU), SIGNALED(24), S(TIMEOUT),
     WD_REASON_RUN_TIMEOUT},
    {"memory", WD_JOB_DONE, D(ENDED), C(MEMORY), SIGNALED(9), S(RESOURCE_LIMIT),
     WD_REASON_NONE},
    {"pids", WD_JOB_DONE, D(ENDED), C(PIDS), EXITED(0), S(RESOURCE_LIMIT),
     WD_REASON_NONE},
    {"output", WD_JOB_DONE, D(ENDED), C(OUTPUT), SIGNALED(9), S(RESOURCE_LIMIT),
     WD_REASON_NONE},
    {"file size", WD_JOB_DONE, D(ENDED), C(FILESIZE), SIGNALED(25), S(RESOURCE_LIMIT),
     WD_REASON_NONE},
    {"cancelled", WD_JOB_DONE, D(ENDED), C(CANCEL), SIGNALED(9), S(CANCELLED),
     WD_REASON_CANCELLED},
    {"unknown cause", WD_JOB_DONE, D(ENDED), 99, EXITED(0), S(INFRA),
     WD_REASON_WORKER_FAILED},
    {"not started", WD_JOB_DONE, D(NOT_STARTED), C(NONE), 0, S(BUSY),
     WD_REASON_QUEUE_TIMEOUT},
    {"cancelled in the queue", WD_JOB_DONE, D(NOT_STARTED), C(CANCEL), 0, S(CANCELLED),
     WD_REASON_CANCELLED},
    {"refused", WD_JOB_DONE, D(REFUSED), C(NONE), 0, S(INFRA), WD_REASON_WORKER_FAILED},
    {"no sandbox", WD_JOB_DONE, D(FAILED), C(NONE), 0, S(INFRA),
     WD_REASON_SANDBOX_UNAVAILABLE},
    {"unspecified", WD_JOB_DONE, D(OUTCOME_UNSPECIFIED), C(NONE), 0, S(INFRA),
     WD_REASON_WORKER_FAILED},
    {"unknown outcome", WD_JOB_DONE, 77, C(NONE), 0, S(INFRA), WD_REASON_WORKER_FAILED},
    {"no answer at all", WD_JOB_DONE, 0, 0, 0, S(INFRA), WD_REASON_WORKER_FAILED},
    {"executor died", WD_JOB_LOST, 0, 0, 0, S(INFRA), WD_REASON_EXECUTOR_DIED},
    {"no executor", WD_JOB_UNAVAILABLE, 0, 0, 0, S(INFRA),
     WD_REASON_SANDBOX_UNAVAILABLE},
    {"withdrawn", WD_JOB_WITHDRAWN, 0, 0, 0, S(CANCELLED), WD_REASON_CANCELLED},
    {"too many wait", WD_JOB_FULL, 0, 0, 0, S(BUSY), WD_REASON_QUEUE_FULL},
    {"never ran", WD_JOB_NONE, 0, 0, 0, S(INFRA), WD_REASON_BUG},
};

static void each_end_has_its_status(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        Warded__Exec__V1__Done done = WARDED__EXEC__V1__DONE__INIT;
        done.outcome = (Warded__Exec__V1__Done__Outcome)cases[i].outcome;
        done.cause = (Warded__Exec__V1__Done__Cause)cases[i].cause;
        done.wait_status = cases[i].wait_status;

        print_message("  %s\n", cases[i].name);
        wd_verdict verdict = wd_verdict_of(cases[i].end, &done);
        assert_int_equal(verdict.status, cases[i].want);
        assert_int_equal(verdict.reason, cases[i].reason);
    }
}

static void done_without_a_message_is_a_bug_not_a_success(void **state)
{
    (void)state;
    assert_int_equal(wd_verdict_of(WD_JOB_DONE, NULL).status, S(INFRA));
    assert_int_equal(wd_verdict_of((wd_job_end)99, NULL).status, S(INFRA));
}

static void infra_and_busy_carry_no_content(void **state)
{
    (void)state;
    assert_false(wd_verdict_has_content(S(INFRA)));
    assert_false(wd_verdict_has_content(S(BUSY)));
    assert_false(wd_verdict_has_content((Warded__V1__Result__Status)1000));
    assert_true(wd_verdict_has_content(S(TIMEOUT)));
    assert_true(wd_verdict_has_content(S(TOOL_ERROR)));
}

static void the_record_tells_them_apart(void **state)
{
    static const struct {
        wd_verdict verdict;
        const char *outcome, *name;
        wd_status code;
    } rows[] = {
        {{S(OK), WD_REASON_NONE}, "ok", "OK", WD_OK},
        {{S(TOOL_ERROR), WD_REASON_NONE}, "failed", "TOOL_ERROR", WD_OK},
        {{S(DENIED), WD_REASON_SCOPE_MISSING},
         "refused",
         "DENIED",
         WD_PERMISSION_DENIED},
        {{S(INVALID_ACTION), WD_REASON_TOOL_UNKNOWN},
         "refused",
         "INVALID_ACTION",
         WD_NOT_FOUND},
        {{S(BUSY), WD_REASON_QUEUE_TIMEOUT}, "refused", "BUSY", WD_DEADLINE_EXCEEDED},
        {{S(RESOURCE_LIMIT), WD_REASON_NONE},
         "failed",
         "RESOURCE_LIMIT",
         WD_RESOURCE_EXHAUSTED},
        {{S(INFRA), WD_REASON_EXECUTOR_DIED}, "failed", "INFRA", WD_INTERNAL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        Warded__V1__Result__Status status = rows[i].verdict.status;
        assert_string_equal(wd_verdict_outcome(status), rows[i].outcome);
        assert_string_equal(wd_verdict_name(status), rows[i].name);
        assert_int_equal(wd_verdict_code(rows[i].verdict), rows[i].code);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_end_has_its_status),
        cmocka_unit_test(done_without_a_message_is_a_bug_not_a_success),
        cmocka_unit_test(infra_and_busy_carry_no_content),
        cmocka_unit_test(the_record_tells_them_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
