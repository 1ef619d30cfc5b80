/* The gate's end of the job socket, with the test as the executor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/c/frame.h"
#include "proto/c/limits.h"
#include "server/executor_link.h"

#define WAIT_S 20

/* What the link's thread tells the test. */
typedef struct fixture {
    wd_link *link;
    int executor; /* our end */
    wd_frame_reader *reader;
    pthread_mutex_t lock;
    pthread_cond_t news;
    int n_done, n_changes, n_writes;
    wd_task task;
    wd_exec_job job;
    bool cancel; /* the task cancels the job, else it runs it */
} fixture;

static void tell(fixture *f, int *counter)
{
    (void)pthread_mutex_lock(&f->lock);
    (*counter)++;
    (void)pthread_cond_broadcast(&f->news);
    (void)pthread_mutex_unlock(&f->lock);
}

static void wait_for(fixture *f, const int *counter, int value)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_S;
    (void)pthread_mutex_lock(&f->lock);
    while (*counter < value)
        assert_int_equal(pthread_cond_timedwait(&f->news, &f->lock, &until), 0);
    (void)pthread_mutex_unlock(&f->lock);
}

static void changed(void *arg)
{
    fixture *f = arg;
    tell(f, &f->n_changes);
}

static void before_write(void *arg)
{
    fixture *f = arg;
    tell(f, &f->n_writes);
}

static void job_done(wd_exec_job *job)
{
    fixture *f = WD_CONTAINER(job, fixture, job);
    tell(f, &f->n_done);
}

static void on_link(wd_task *task)
{
    fixture *f = WD_CONTAINER(task, fixture, task);

    if (f->cancel)
        wd_link_cancel(f->link, &f->job);
    else
        wd_link_run(f->link, &f->job);
}

static void run_job(fixture *f)
{
    f->job.done = job_done;
    f->cancel = false;
    wd_link_post(f->link, &f->task);
}

static void cancel_job(fixture *f)
{
    f->cancel = true;
    wd_link_post(f->link, &f->task);
}

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    const wd_link_options options = {wd_clock_system(), changed, f, before_write, f};

    assert_non_null(f);
    (void)pthread_mutex_init(&f->lock, NULL);
    (void)pthread_cond_init(&f->news, NULL);
    f->executor = -1;
    f->reader = wd_frame_reader_new(WD_JOB_FRAME_BYTES);
    f->task.run = on_link;
    f->job.tool = "python_code";
    f->job.code = (wd_span){(const uint8_t *)"print(1)", 8};
    f->job.end_by_ms = wd_clock_mono_ms(wd_clock_system()) + 60000;
    warded__exec__v1__limits__init(&f->job.limits);
    assert_int_equal(wd_link_start(&options, &f->link, NULL), WD_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;

    wd_link_stop(f->link);
    if (f->executor >= 0)
        (void)close(f->executor);
    wd_exec_done_free(f->job.done_message);
    wd_frame_reader_free(f->reader);
    (void)pthread_cond_destroy(&f->news);
    (void)pthread_mutex_destroy(&f->lock);
    free(f);
    return 0;
}

static void say(fixture *f, const Warded__Exec__V1__ToGate *message)
{
    WD_AUTO_BUFFER out = WD_BUFFER_INIT;

    assert_int_equal(wd_frame_append(&out, &message->base, WD_JOB_FRAME_BYTES, NULL),
                     WD_OK);
    assert_int_equal(send(f->executor, out.data, out.size, MSG_NOSIGNAL), out.size);
}

static void say_ready(fixture *f)
{
    Warded__Exec__V1__Ready ready = WARDED__EXEC__V1__READY__INIT;
    Warded__Exec__V1__ToGate message = WARDED__EXEC__V1__TO_GATE__INIT;

    ready.slots = 3;
    message.kind_case = WARDED__EXEC__V1__TO_GATE__KIND_READY;
    message.ready = &ready;
    say(f, &message);
}

static void say_started(fixture *f, uint64_t id)
{
    Warded__Exec__V1__Started started = WARDED__EXEC__V1__STARTED__INIT;
    Warded__Exec__V1__ToGate message = WARDED__EXEC__V1__TO_GATE__INIT;

    started.job_id = id;
    message.kind_case = WARDED__EXEC__V1__TO_GATE__KIND_STARTED;
    message.started = &started;
    say(f, &message);
}

static void say_done(fixture *f, uint64_t id)
{
    Warded__Exec__V1__Done done = WARDED__EXEC__V1__DONE__INIT;
    Warded__Exec__V1__ToGate message = WARDED__EXEC__V1__TO_GATE__INIT;

    done.job_id = id;
    done.outcome = WARDED__EXEC__V1__DONE__OUTCOME__ENDED;
    message.kind_case = WARDED__EXEC__V1__TO_GATE__KIND_DONE;
    message.done = &done;
    say(f, &message);
}

/* The next message from the gate; the caller frees it. */
static Warded__Exec__V1__ToExecutor *next(fixture *f)
{
    struct timeval patience = {.tv_sec = WAIT_S};
    wd_span frame;

    (void)setsockopt(f->executor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    while (!wd_frame_next(f->reader, &frame)) {
        uint8_t bytes[4096];
        ssize_t n = recv(f->executor, bytes, sizeof(bytes), 0);
        assert_true(n > 0);
        assert_int_equal(wd_frame_feed(f->reader, (wd_span){bytes, (size_t)n}, NULL),
                         WD_OK);
    }
    return warded__exec__v1__to_executor__unpack(NULL, frame.size, frame.data);
}

static uint64_t next_run(fixture *f)
{
    Warded__Exec__V1__ToExecutor *message = next(f);

    assert_non_null(message);
    assert_int_equal(message->kind_case, WARDED__EXEC__V1__TO_EXECUTOR__KIND_RUN);
    assert_int_equal(message->run->code.len, 8);
    uint64_t id = message->run->job_id;
    warded__exec__v1__to_executor__free_unpacked(message, NULL);
    return id;
}

static void attach(fixture *f)
{
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    f->executor = ends[0];
    wd_link_attach(f->link, ends[1]);
}

static void connect_ready(fixture *f)
{
    int before = f->n_changes;
    attach(f);
    say_ready(f);
    wait_for(f, &f->n_changes, before + 1);
}

static void a_job_goes_out_and_its_result_comes_back(void **state)
{
    fixture *f = *state;

    connect_ready(f);
    run_job(f);
    uint64_t id = next_run(f);
    assert_int_equal(f->n_writes, 1);
    say_started(f, id);
    say_done(f, id);
    wait_for(f, &f->n_done, 1);
    assert_int_equal(f->job.end, WD_JOB_DONE);
    assert_non_null(f->job.done_message);
    assert_int_equal(wd_link_running(f->link), 0);
}

static void without_an_executor_a_job_is_unavailable_at_once(void **state)
{
    fixture *f = *state;
    char problem[64];

    assert_null(wd_link_get_ready(f->link, problem, sizeof(problem)));
    assert_true(problem[0] != '\0');
    run_job(f);
    wait_for(f, &f->n_done, 1);
    assert_int_equal(f->job.end, WD_JOB_UNAVAILABLE);
}

static void before_ready_a_job_is_unavailable(void **state)
{
    fixture *f = *state;

    attach(f);
    run_job(f);
    wait_for(f, &f->n_done, 1);
    assert_int_equal(f->job.end, WD_JOB_UNAVAILABLE);
}

static void when_the_executor_dies_its_jobs_are_lost_and_a_new_one_serves(void **state)
{
    fixture *f = *state;

    connect_ready(f);
    run_job(f);
    (void)next_run(f);
    (void)close(f->executor);
    wait_for(f, &f->n_done, 1);
    assert_int_equal(f->job.end, WD_JOB_LOST);
    assert_null(wd_link_get_ready(f->link, NULL, 0));

    connect_ready(f);
    run_job(f);
    say_done(f, next_run(f));
    wait_for(f, &f->n_done, 2);
    assert_int_equal(f->job.end, WD_JOB_DONE);
}

static void a_new_socket_replaces_one_that_still_lives(void **state)
{
    fixture *f = *state;

    connect_ready(f);
    run_job(f);
    (void)next_run(f);
    int old = f->executor;
    attach(f);
    wait_for(f, &f->n_done, 1);
    assert_int_equal(f->job.end, WD_JOB_LOST);
    uint8_t byte;
    assert_int_equal(recv(old, &byte, 1, 0), 0); /* told to kill what it had */
    (void)close(old);
}

static void a_cancel_is_sent_once_and_the_end_still_comes(void **state)
{
    fixture *f = *state;

    connect_ready(f);
    run_job(f);
    uint64_t id = next_run(f);
    cancel_job(f);
    Warded__Exec__V1__ToExecutor *message = next(f);
    assert_int_equal(message->kind_case, WARDED__EXEC__V1__TO_EXECUTOR__KIND_CANCEL);
    assert_int_equal(message->cancel->job_id, id);
    warded__exec__v1__to_executor__free_unpacked(message, NULL);
    assert_int_equal(f->n_done, 0);
    say_done(f, id);
    wait_for(f, &f->n_done, 1);
    assert_int_equal(f->job.end, WD_JOB_DONE);
}

static void unavailable_holds_until_ready_comes_again(void **state)
{
    Warded__Exec__V1__Unavailable unavailable = WARDED__EXEC__V1__UNAVAILABLE__INIT;
    Warded__Exec__V1__ToGate message = WARDED__EXEC__V1__TO_GATE__INIT;
    fixture *f = *state;
    char why[] = "the canary sang";
    char problem[64];

    connect_ready(f);
    unavailable.message = why;
    message.kind_case = WARDED__EXEC__V1__TO_GATE__KIND_UNAVAILABLE;
    message.unavailable = &unavailable;
    say(f, &message);
    wait_for(f, &f->n_changes, 2);
    assert_null(wd_link_get_ready(f->link, problem, sizeof(problem)));
    assert_string_equal(problem, why);
    run_job(f);
    wait_for(f, &f->n_done, 1);
    assert_int_equal(f->job.end, WD_JOB_UNAVAILABLE);
    say_ready(f);
    wait_for(f, &f->n_changes, 3);
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
    };
    fixture *f = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("  %s\n", cases[i].name);
        connect_ready(f);
        run_job(f);
        (void)next_run(f);
        int before = f->n_done;
        (void)send(f->executor, cases[i].bytes, cases[i].size, MSG_NOSIGNAL);
        wait_for(f, &f->n_done, before + 1);
        assert_int_equal(f->job.end, WD_JOB_LOST);
        (void)close(f->executor);
    }
}

static void results_of_unknown_jobs_are_ignored(void **state)
{
    fixture *f = *state;

    connect_ready(f);
    say_started(f, 4711);
    say_done(f, 4711);
    run_job(f);
    say_done(f, next_run(f));
    wait_for(f, &f->n_done, 1);
    assert_int_equal(f->job.end, WD_JOB_DONE);
}

static void an_executor_that_misses_a_deadline_is_given_up(void **state)
{
    fixture *f = *state;

    connect_ready(f);
    f->job.end_by_ms = wd_clock_mono_ms(wd_clock_system()) - 60000;
    run_job(f);
    (void)next_run(f);
    wait_for(f, &f->n_done, 1);
    assert_int_equal(f->job.end, WD_JOB_LOST);
}

static void a_stop_ends_what_is_left(void **state)
{
    fixture *f = *state;

    connect_ready(f);
    run_job(f);
    (void)next_run(f);
    wd_link_stop(f->link);
    f->link = NULL;
    assert_int_equal(f->n_done, 1);
    assert_int_equal(f->job.end, WD_JOB_LOST);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

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
        TEST(a_stop_ends_what_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
