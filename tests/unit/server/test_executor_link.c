/* The gate's end of the job socket, with the test as the executor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <unistd.h>

#include "link_fixture.h"

static void a_job_goes_out_and_its_result_comes_back(void **state)
{
    link_fixture *f = *state;

    link_connect_ready(f);
    link_run_job(f);
    uint64_t id = link_next_run(f);
    assert_int_equal(f->n_writes, 1);
    link_say_started(f, id);
    link_say_done(f, id);
    link_wait_for(f, &f->n_done, 1);
    assert_int_equal(f->job.end, WD_JOB_DONE);
    assert_non_null(f->job.done_message);
    assert_int_equal(wd_link_running(f->link), 0);
}

static void without_an_executor_a_job_is_unavailable_at_once(void **state)
{
    link_fixture *f = *state;
    char problem[64];

    assert_null(wd_link_get_ready(f->link, problem, sizeof(problem)));
    assert_true(problem[0] != '\0');
    link_run_job(f);
    link_wait_for(f, &f->n_done, 1);
    assert_int_equal(f->job.end, WD_JOB_UNAVAILABLE);
}

static void before_ready_a_job_is_unavailable(void **state)
{
    link_fixture *f = *state;

    link_attach(f);
    link_run_job(f);
    link_wait_for(f, &f->n_done, 1);
    assert_int_equal(f->job.end, WD_JOB_UNAVAILABLE);
}

static void when_the_executor_dies_its_jobs_are_lost_and_a_new_one_serves(void **state)
{
    link_fixture *f = *state;

    link_connect_ready(f);
    link_run_job(f);
    (void)link_next_run(f);
    (void)close(f->executor);
    link_wait_for(f, &f->n_done, 1);
    assert_int_equal(f->job.end, WD_JOB_LOST);
    assert_null(wd_link_get_ready(f->link, NULL, 0));

    link_connect_ready(f);
    link_run_job(f);
    link_say_done(f, link_next_run(f));
    link_wait_for(f, &f->n_done, 2);
    assert_int_equal(f->job.end, WD_JOB_DONE);
}

static void a_new_socket_replaces_one_that_still_lives(void **state)
{
    link_fixture *f = *state;

    link_connect_ready(f);
    link_run_job(f);
    (void)link_next_run(f);
    int old = f->executor;
    link_attach(f);
    link_wait_for(f, &f->n_done, 1);
    assert_int_equal(f->job.end, WD_JOB_LOST);
    uint8_t byte;
    assert_int_equal(recv(old, &byte, 1, 0), 0); /* told to kill what it had */
    (void)close(old);
}

static void a_cancel_is_sent_once_and_the_end_still_comes(void **state)
{
    link_fixture *f = *state;

    link_connect_ready(f);
    link_run_job(f);
    uint64_t id = link_next_run(f);
    link_cancel_job(f);
    Warded__Exec__V1__ToExecutor *message = link_next(f);
    assert_int_equal(message->kind_case, WARDED__EXEC__V1__TO_EXECUTOR__KIND_CANCEL);
    assert_int_equal(message->cancel->job_id, id);
    warded__exec__v1__to_executor__free_unpacked(message, NULL);
    assert_int_equal(f->n_done, 0);
    link_say_done(f, id);
    link_wait_for(f, &f->n_done, 1);
    assert_int_equal(f->job.end, WD_JOB_DONE);
}

static void unavailable_holds_until_ready_comes_again(void **state)
{
    Warded__Exec__V1__Unavailable unavailable = WARDED__EXEC__V1__UNAVAILABLE__INIT;
    Warded__Exec__V1__ToGate message = WARDED__EXEC__V1__TO_GATE__INIT;
    link_fixture *f = *state;
    char why[] = "the canary sang";
    char problem[64];

    link_connect_ready(f);
    unavailable.message = why;
    message.kind_case = WARDED__EXEC__V1__TO_GATE__KIND_UNAVAILABLE;
    message.unavailable = &unavailable;
    link_say(f, &message);
    link_wait_for(f, &f->n_changes, 2);
    assert_null(wd_link_get_ready(f->link, problem, sizeof(problem)));
    assert_string_equal(problem, why);
    link_run_job(f);
    link_wait_for(f, &f->n_done, 1);
    assert_int_equal(f->job.end, WD_JOB_UNAVAILABLE);
    link_say_ready(f);
    link_wait_for(f, &f->n_changes, 3);
    wd_link_ready *ready = wd_link_get_ready(f->link, problem, sizeof(problem));
    assert_int_equal(ready->message->slots, 3);
    wd_link_ready_unref(f->link, ready);
}

/* Each ends the socket, and with it the jobs: never a hang, never a success. */
static void nonsense_from_the_executor_loses_its_jobs(void **state)
{
    static const struct {
        const char *name;
        const char *bytes;
        size_t size;
    } cases[] = {
        {"a length above the limit", "\xFF\xFF\xFF\xFF", 4},
        {"bytes that are no message", "\0\0\0\3\xFF\xFF\xFF", 7},
        {"text that is not UTF-8", "\0\0\0\5\x22\x03\x0A\x01\xFF", 9},
        {"text with a NUL inside", "\0\0\0\5\x22\x03\x0A\x01\x00", 9},
    };
    link_fixture *f = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("  %s\n", cases[i].name);
        link_connect_ready(f);
        link_run_job(f);
        (void)link_next_run(f);
        int before = f->n_done;
        (void)send(f->executor, cases[i].bytes, cases[i].size, MSG_NOSIGNAL);
        link_wait_for(f, &f->n_done, before + 1);
        assert_int_equal(f->job.end, WD_JOB_LOST);
        (void)close(f->executor);
    }
}

static void results_of_unknown_jobs_are_ignored(void **state)
{
    link_fixture *f = *state;

    link_connect_ready(f);
    link_say_started(f, 4711);
    link_say_done(f, 4711);
    link_run_job(f);
    link_say_done(f, link_next_run(f));
    link_wait_for(f, &f->n_done, 1);
    assert_int_equal(f->job.end, WD_JOB_DONE);
}

static void an_executor_that_misses_a_deadline_is_given_up(void **state)
{
    link_fixture *f = *state;

    link_connect_ready(f);
    f->job.end_by_ms = wd_clock_mono_ms(wd_clock_system()) - 60000;
    link_run_job(f);
    (void)link_next_run(f);
    link_wait_for(f, &f->n_done, 1);
    assert_int_equal(f->job.end, WD_JOB_LOST);
}

static void another_done(wd_exec_job *job)
{
    (void)job;
}

static void run_another(wd_task *task)
{
    link_fixture *f = WD_CONTAINER(task, link_fixture, task);
    static wd_exec_job another;

    another = f->job;
    another.done = another_done;
    wd_link_run(f->link, &another);
}

/* More than the link reads at once, and of no job that it knows. */
static void say_much(link_fixture *f)
{
    enum { MUCH = 100 << 10 };
    Warded__Exec__V1__Done done = WARDED__EXEC__V1__DONE__INIT;
    Warded__Exec__V1__ToGate message = WARDED__EXEC__V1__TO_GATE__INIT;
    char *text = malloc(MUCH);

    assert_non_null(text);
    memset(text, 'x', MUCH - 1);
    text[MUCH - 1] = '\0';
    done.job_id = 4711;
    done.outcome = WARDED__EXEC__V1__DONE__OUTCOME__FAILED;
    done.message = text;
    message.kind_case = WARDED__EXEC__V1__TO_GATE__KIND_DONE;
    message.done = &done;
    link_say(f, &message);
    free(text);
}

/* The link's thread comes back late, to more than it reads at once: the result of a job
 * that is overdue by now lies behind it. */
static void what_lies_unread_is_not_the_executors_fault(void **state)
{
    enum { OVERDUE_MS = 5000, LATE_MS = 1200 };
    link_fixture *f = *state;

    link_connect_ready(f);
    f->job.end_by_ms = wd_clock_mono_ms(wd_clock_system()) - OVERDUE_MS + LATE_MS / 2;
    link_run_job(f);
    uint64_t id = link_next_run(f);
    link_say_started(f, id);
    (void)pthread_mutex_lock(&f->lock); /* before_write waits for it */
    f->task.run = run_another;
    wd_link_post(f->link, &f->task);
    say_much(f);
    link_say_done(f, id);
    (void)usleep(LATE_MS * 1000U);
    (void)pthread_mutex_unlock(&f->lock);
    link_wait_for(f, &f->n_done, 1);
    assert_int_equal(f->job.end, WD_JOB_DONE);
}

static void a_stop_ends_what_is_left(void **state)
{
    link_fixture *f = *state;

    link_connect_ready(f);
    link_run_job(f);
    (void)link_next_run(f);
    wd_link_stop(f->link);
    f->link = NULL;
    assert_int_equal(f->n_done, 1);
    assert_int_equal(f->job.end, WD_JOB_LOST);
}

#define TEST(function)                                                                 \
    cmocka_unit_test_setup_teardown(function, link_set_up, link_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_goes_out_and_its_result_comes_back),
        TEST(without_an_executor_a_job_is_unavailable_at_once),
        TEST(before_ready_a_job_is_unavailable),
        TEST(when_the_executor_dies_its_jobs_are_lost_and_a_new_one_serves),
        TEST(a_new_socket_replaces_one_that_still_lives),
        TEST(a_cancel_is_sent_once_and_the_end_still_comes),
        TEST(unavailable_holds_until_ready_comes_again),
        TEST(nonsense_from_the_executor_loses_its_jobs),
        TEST(results_of_unknown_jobs_are_ignored),
        TEST(an_executor_that_misses_a_deadline_is_given_up),
        TEST(what_lies_unread_is_not_the_executors_fault),
        TEST(a_stop_ends_what_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
