/* Whatever stage fails, in whatever way, the service does not run or the reply is an
 * error, and the record is written; if that can't be written, the service does not run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/pipeline.h"
#include "server/stages.h"

/* How the chosen stage ends. */
typedef enum way {
    WELL,
    FAILS,        /* FAILED, with its reason */
    FAILS_MUTELY, /* FAILED, and *err untouched */
    SAYS_OK,      /* FAILED, and *err says OK */
    NO_REASON,    /* FAILED, with a status and no reason */
    OTHER_STATUS, /* FAILED, with a status that is not its reason's */
    UNKNOWN,      /* a number that no step has */
    UNKNOWN_NEGATIVE,
    PARKS_AND_FAILS,
    PARKS_AND_UNKNOWN,
    ANSWERS,
    PARKS_AND_ANSWERS,
    ASSERTS,
} way;

static char ran[16]; /* first letters of the stages that ran, in order */
static char chosen;  /* letter of the stage that does not go well, or 0 */
static way how;
static wd_call *parked; /* given away; the test resumes it */
static bool abandoned;
static wd_reason replied; /* what the reply stage saw */

static void fill(wd_error *err)
{
    (void)wd_refuse(err, WD_REASON_QUOTA, "told to fail");
}

static wd_step fail_with(wd_status status, wd_reason reason, wd_error *err)
{
    (void)wd_fail(err, status, "told to fail");
    err->reason = reason;
    return WD_FAILED;
}

static wd_step note(char letter, wd_call *call, wd_error *err)
{
    ran[strlen(ran)] = letter;
    if (letter != chosen) {
        call->begun = call->begun || letter == 'A';
        return WD_NEXT;
    }
    switch (how) {
    case WELL:
        return WD_NEXT;
    case FAILS:
        fill(err);
        return WD_FAILED;
    case FAILS_MUTELY:
        return WD_FAILED;
    case SAYS_OK:
        *err = (wd_error){.status = WD_OK, .reason = WD_REASON_QUOTA};
        return WD_FAILED;
    case NO_REASON:
        return fail_with(WD_NOT_FOUND, WD_REASON_NONE, err);
    case OTHER_STATUS:
        return fail_with(WD_NOT_FOUND, WD_REASON_QUOTA, err);
    case UNKNOWN:
        return (wd_step)77;
    case UNKNOWN_NEGATIVE:
        return (wd_step)-1;
    case PARKS_AND_FAILS:
    case PARKS_AND_UNKNOWN:
    case PARKS_AND_ANSWERS:
        parked = call;
        return WD_PARKED;
    case ANSWERS:
        return WD_ANSWERED;
    case ASSERTS:
        WD_ASSERT(letter == 0);
        return WD_NEXT;
    }
    return WD_NEXT;
}

#define FAKE(function, letter)                                                         \
    wd_step function(wd_call *call, wd_error *err)                                     \
    {                                                                                  \
        return note(letter, call, err);                                                \
    }

FAKE(wd_wire_decode, 'w')
FAKE(wd_dispatch_find, 'd')
FAKE(wd_auth_check, 'a')
FAKE(wd_policy_check, 'p')
FAKE(wd_dedupe_claim, 'D')
FAKE(wd_spend_take, 'u')
FAKE(wd_audit_begin, 'A')
FAKE(wd_service_run, 's')
FAKE(wd_outcome_write, 'o')

wd_step wd_reply_send(wd_call *call, wd_error *err)
{
    replied = call->error.reason;
    return note('r', call, err);
}

void wd_call_abandon(wd_call *call)
{
    (void)call;
    abandoned = true;
}

static void resume_parked(void)
{
    wd_call *call = parked;
    wd_error err;

    parked = NULL;
    fill(&err);
    wd_pipeline_resume(call,
                       how == PARKS_AND_FAILS     ? WD_FAILED
                       : how == PARKS_AND_ANSWERS ? WD_ANSWERED
                                                  : (wd_step)42,
                       &err);
}

static void run(wd_call *call, char stage, way the_way)
{
    memset(ran, 0, sizeof(ran));
    memset(call, 0, sizeof(*call));
    chosen = stage;
    how = the_way;
    abandoned = false;
    parked = NULL;
    replied = WD_REASON_NONE;
    wd_pipeline_start(call);
    if (parked != NULL)
        resume_parked();
}

static const struct {
    const char *name;
    char stage;
    const char *want; /* the stages that run */
} failures[] = {
    {"wire", 'w', "wAor"},
    {"dispatch", 'd', "wdAor"},
    {"auth", 'a', "wdaAor"},
    {"policy", 'p', "wdapAor"},
    {"dedupe", 'D', "wdapDAor"},
    {"spend", 'u', "wdapDuAor"},
    {"audit: no service", 'A', "wdapDuAor"},
    {"service", 's', "wdapDuAsor"},
    {"outcome", 'o', "wdapDuAsor"},
};

static const struct {
    const char *name;
    way way;
    wd_reason want; /* what the caller is told */
} ways[] = {
    {"fails", FAILS, WD_REASON_QUOTA},
    {"fails without a word", FAILS_MUTELY, WD_REASON_BUG},
    {"fails and says OK", SAYS_OK, WD_REASON_BUG},
    {"fails and gives no reason", NO_REASON, WD_REASON_BUG},
    {"fails with another's status", OTHER_STATUS, WD_REASON_BUG},
    {"returns an unknown number", UNKNOWN, WD_REASON_BUG},
    {"returns a negative number", UNKNOWN_NEGATIVE, WD_REASON_BUG},
    {"says answered, without an answer", ANSWERS, WD_REASON_BUG},
    {"parks, then fails", PARKS_AND_FAILS, WD_REASON_QUOTA},
    {"parks, then an unknown number", PARKS_AND_UNKNOWN, WD_REASON_QUOTA},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void claim_09_whatever_stage_fails_the_gate_fails_closed(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(failures); i++) {
        for (size_t k = 0; k < COUNT(ways); k++) {
            wd_call call;
            print_message("  %s %s\n", failures[i].name, ways[k].name);
            run(&call, failures[i].stage, ways[k].way);
            assert_string_equal(ran, failures[i].want);
            assert_int_not_equal(call.error.status, WD_OK);
            assert_int_equal(call.error.reason, ways[k].want);
            assert_int_equal(replied, ways[k].want);
            assert_int_equal(call.error.status, wd_reason_status(ways[k].want));
            assert_true(call.error.msg[0] != '\0');
        }
    }
}

/* What a client branches on and what the record says are one: never a code without its
 * reason, nor a reason with another's code. */
static void claim_01_a_code_without_its_reason_is_a_bug_of_ours(void **state)
{
    static const way faulty[] = {NO_REASON, OTHER_STATUS};
    (void)state;
    for (size_t i = 0; i < COUNT(failures); i++) {
        for (size_t k = 0; k < COUNT(faulty); k++) {
            wd_call call;
            run(&call, failures[i].stage, faulty[k]);
            assert_int_equal(replied, WD_REASON_BUG);
            assert_int_equal(call.error.status, WD_INTERNAL);
            assert_string_equal(call.error.msg, "told to fail");
        }
    }
}

static void claim_09_a_reply_that_fails_is_given_up_not_sent_as_success(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(ways); k++) {
        wd_call call;
        run(&call, 'r', ways[k].way);
        assert_string_equal(ran, "wdapDuAsor");
        assert_int_not_equal(call.error.status, WD_OK);
        assert_true(abandoned);
    }
}

static void all_well_runs_every_stage_once_in_order(void **state)
{
    wd_call call;
    (void)state;

    run(&call, 0, WELL);
    assert_string_equal(ran, "wdapDuAsor");
    assert_int_equal(call.error.status, WD_OK);
    assert_true(abandoned); /* the fake reply did not park */
}

/* The answer of an earlier attempt. */
static void run_answered(wd_call *call, char stage, way the_way)
{
    wd_error good = {.status = WD_OK};
    wd_buffer payload = WD_BUFFER_INIT;

    memset(ran, 0, sizeof(ran));
    memset(call, 0, sizeof(*call));
    call->answer = wd_answer_new(&good, &payload, 0);
    assert_non_null(call->answer);
    chosen = stage;
    how = the_way;
    parked = NULL;
    wd_pipeline_start(call);
    if (parked != NULL)
        resume_parked();
    wd_answer_unref(call->answer);
}

static void claim_06_an_answered_call_goes_to_the_reply_and_nowhere_else(void **state)
{
    wd_call call;
    (void)state;

    run_answered(&call, 'D', ANSWERS);
    assert_string_equal(ran, "wdapDr");
    run_answered(&call, 'D', PARKS_AND_ANSWERS);
    assert_string_equal(ran, "wdapDr");
    assert_int_equal(call.error.status, WD_OK);
}

/* Else a call would have a begin and no end. */
static void claim_06_no_answer_takes_the_place_of_a_begun_calls_end(void **state)
{
    wd_call call;
    (void)state;

    run_answered(&call, 's', ANSWERS);
    assert_string_equal(ran, "wdapDuAsor");
    assert_int_equal(call.error.reason, WD_REASON_BUG);
}

static void the_first_failure_is_kept(void **state)
{
    wd_call call;
    (void)state;

    memset(&call, 0, sizeof(call));
    memset(ran, 0, sizeof(ran));
    (void)wd_refuse(&call.error, WD_REASON_TOKEN_REVOKED, "before");
    chosen = 'o';
    how = FAILS;
    wd_pipeline_start(&call);
    assert_string_equal(ran, "Aor");
    assert_int_equal(call.error.reason, WD_REASON_TOKEN_REVOKED);
}

static void a_parked_call_is_not_touched_until_it_is_resumed(void **state)
{
    wd_call call;
    wd_call before;
    (void)state;

    memset(ran, 0, sizeof(ran));
    memset(&call, 0, sizeof(call));
    chosen = 's';
    how = PARKS_AND_FAILS;
    wd_pipeline_start(&call);
    assert_string_equal(ran, "wdapDuAs");
    memcpy(&before, &call, sizeof(call));
    assert_memory_equal(&before, parked, sizeof(call));
    resume_parked();
    assert_string_equal(ran, "wdapDuAsor");
}

/* In a child, since the process ends. */
static void claim_09_a_failed_assertion_ends_the_process(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(failures); i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            wd_call call;
            assert_non_null(freopen("/dev/null", "w", stderr));
            run(&call, failures[i].stage, ASSERTS);
            _exit(0);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_09_whatever_stage_fails_the_gate_fails_closed),
        cmocka_unit_test(claim_01_a_code_without_its_reason_is_a_bug_of_ours),
        cmocka_unit_test(claim_09_a_reply_that_fails_is_given_up_not_sent_as_success),
        cmocka_unit_test(all_well_runs_every_stage_once_in_order),
        cmocka_unit_test(claim_06_an_answered_call_goes_to_the_reply_and_nowhere_else),
        cmocka_unit_test(claim_06_no_answer_takes_the_place_of_a_begun_calls_end),
        cmocka_unit_test(the_first_failure_is_kept),
        cmocka_unit_test(a_parked_call_is_not_touched_until_it_is_resumed),
        cmocka_unit_test(claim_09_a_failed_assertion_ends_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
