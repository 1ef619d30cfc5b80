#include "link_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "proto/c/limits.h"

#define WAIT_S 20

static void tell(link_fixture *f, int *counter)
{
    (void)pthread_mutex_lock(&f->lock);
    (*counter)++;
    (void)pthread_cond_broadcast(&f->news);
    (void)pthread_mutex_unlock(&f->lock);
}

void link_wait_for(link_fixture *f, const int *counter, int value)
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
    link_fixture *f = arg;
    tell(f, &f->n_changes);
}

static void before_write(void *arg)
{
    link_fixture *f = arg;
    tell(f, &f->n_writes);
}

static void job_done(wd_exec_job *job)
{
    link_fixture *f = WD_CONTAINER(job, link_fixture, job);
    tell(f, &f->n_done);
}

static void on_link(wd_task *task)
{
    link_fixture *f = WD_CONTAINER(task, link_fixture, task);

    if (f->cancel)
        wd_link_cancel(f->link, &f->job);
    else
        wd_link_run(f->link, &f->job);
}

void link_run_job(link_fixture *f)
{
    f->job.done = job_done;
    f->cancel = false;
    wd_link_post(f->link, &f->task);
}

void link_cancel_job(link_fixture *f)
{
    f->cancel = true;
    wd_link_post(f->link, &f->task);
}

int link_set_up(void **state)
{
    link_fixture *f = calloc(1, sizeof(*f));
    const wd_link_options options = {
        .clock = wd_clock_system(),
        .queue = 1,
        .changed = changed,
        .changed_arg = f,
        .before_write = before_write,
        .before_write_arg = f,
    };

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

int link_tear_down(void **state)
{
    link_fixture *f = *state;

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

void link_say(link_fixture *f, const Warded__Exec__V1__ToGate *message)
{
    WD_AUTO_BUFFER out = WD_BUFFER_INIT;

    assert_int_equal(wd_frame_append(&out, &message->base, WD_JOB_FRAME_BYTES, NULL),
                     WD_OK);
    assert_int_equal(send(f->executor, out.data, out.size, MSG_NOSIGNAL), out.size);
}

void link_say_ready(link_fixture *f)
{
    Warded__Exec__V1__Ready ready = WARDED__EXEC__V1__READY__INIT;
    Warded__Exec__V1__ToGate message = WARDED__EXEC__V1__TO_GATE__INIT;

    ready.slots = 3;
    message.kind_case = WARDED__EXEC__V1__TO_GATE__KIND_READY;
    message.ready = &ready;
    link_say(f, &message);
}

void link_say_started(link_fixture *f, uint64_t id)
{
    Warded__Exec__V1__Started started = WARDED__EXEC__V1__STARTED__INIT;
    Warded__Exec__V1__ToGate message = WARDED__EXEC__V1__TO_GATE__INIT;

    started.job_id = id;
    message.kind_case = WARDED__EXEC__V1__TO_GATE__KIND_STARTED;
    message.started = &started;
    link_say(f, &message);
}

void link_say_done(link_fixture *f, uint64_t id)
{
    Warded__Exec__V1__Done done = WARDED__EXEC__V1__DONE__INIT;
    Warded__Exec__V1__ToGate message = WARDED__EXEC__V1__TO_GATE__INIT;

    done.job_id = id;
    done.outcome = WARDED__EXEC__V1__DONE__OUTCOME__ENDED;
    message.kind_case = WARDED__EXEC__V1__TO_GATE__KIND_DONE;
    message.done = &done;
    link_say(f, &message);
}

/* The next message from the gate; the caller frees it. */
Warded__Exec__V1__ToExecutor *link_next(link_fixture *f)
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

uint64_t link_next_run(link_fixture *f)
{
    Warded__Exec__V1__ToExecutor *message = link_next(f);

    assert_non_null(message);
    assert_int_equal(message->kind_case, WARDED__EXEC__V1__TO_EXECUTOR__KIND_RUN);
    assert_int_equal(message->run->code.len, 8);
    uint64_t id = message->run->job_id;
    warded__exec__v1__to_executor__free_unpacked(message, NULL);
    return id;
}

void link_attach(link_fixture *f)
{
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    f->executor = ends[0];
    wd_link_attach(f->link, ends[1]);
}

void link_connect_ready(link_fixture *f)
{
    int before = f->n_changes;
    link_attach(f);
    link_say_ready(f);
    link_wait_for(f, &f->n_changes, before + 1);
}
