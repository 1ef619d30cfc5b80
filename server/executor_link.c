#include "server/executor_link.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "server/executor_jobs.h"
#include "server/executor_wire.h"
#include "server/log.h"

#define PROBLEM    256U
#define TICK_MS    1000
#define OVERDUE_MS 5000 /* an executor so late with a result has failed */

struct wd_link {
    wd_link_options options;
    atomic_uint_fast64_t queue; /* options.queue, until it is set anew */
    pthread_t thread;
    int wake; /* eventfd */

    pthread_mutex_t lock; /* guards what follows, up to the blank line */
    wd_task *first, *last;
    int fresh; /* a socket that was attached; -1: none */
    bool stopping;
    wd_link_ready *ready;
    char problem[PROBLEM];
    uint32_t running;

    /* The thread's own. */
    wd_exec_wire *wire; /* NULL: no socket */
    wd_exec_jobs jobs;
    int64_t next_tick_ms;
    int64_t caught_up_ms; /* all that the executor had said was read */
};

/* --- ready or not ------------------------------------------------------------------ */

/* With the lock held. */
static void drop_ready(wd_link_ready *ready)
{
    if (ready == NULL || --ready->refs > 0)
        return;
    wd_exec_ready_free(ready->message);
    free(ready);
}

static void set_ready(wd_link *link, wd_link_ready *ready, const char *problem)
{
    (void)pthread_mutex_lock(&link->lock);
    drop_ready(link->ready);
    link->ready = ready;
    (void)snprintf(link->problem, sizeof(link->problem), "%s", problem);
    (void)pthread_mutex_unlock(&link->lock);
    if (link->options.changed != NULL)
        link->options.changed(link->options.changed_arg);
}

wd_link_ready *wd_link_get_ready(wd_link *link, char *ret_problem, size_t size)
{
    (void)pthread_mutex_lock(&link->lock);
    wd_link_ready *ready = link->ready;
    if (ready != NULL)
        ready->refs++;
    else if (size > 0)
        (void)snprintf(ret_problem, size, "%s", link->problem);
    (void)pthread_mutex_unlock(&link->lock);
    return ready;
}

void wd_link_ready_unref(wd_link *link, wd_link_ready *ready)
{
    (void)pthread_mutex_lock(&link->lock);
    drop_ready(ready);
    (void)pthread_mutex_unlock(&link->lock);
}

uint32_t wd_link_running(wd_link *link)
{
    (void)pthread_mutex_lock(&link->lock);
    uint32_t running = link->running;
    (void)pthread_mutex_unlock(&link->lock);
    return running;
}

void wd_link_set_queue(wd_link *link, uint64_t queue)
{
    atomic_store(&link->queue, queue);
}

/* --- jobs --------------------------------------------------------------------------- */

/* NONE: a new job may be sent; else how it ends at once. */
static wd_job_end first_look(const wd_link *link)
{
    if (link->wire == NULL || link->ready == NULL)
        return WD_JOB_UNAVAILABLE;
    uint64_t most = atomic_load(&link->queue);
    if (most > 0 && link->jobs.waiting >= most)
        return WD_JOB_FULL;
    return WD_JOB_NONE;
}

void wd_link_run(wd_link *link, wd_exec_job *job)
{
    wd_jobs_enter(&link->jobs, job, first_look(link));
}

void wd_link_cancel(wd_link *link, wd_exec_job *job)
{
    if (job->end != WD_JOB_NONE || job->cancelled)
        return;
    job->cancelled = true;
    if (!job->sent)
        link->jobs.n_withdrawn++;
    else if (link->wire != NULL)
        wd_exec_wire_cancel(link->wire, job->id);
}

/* Everything that has ended is told; `running` is kept for those who ask, and who was
 * told of an end does not find it counted still. */
static void tell_ended(wd_link *link)
{
    wd_jobs_sweep(&link->jobs);
    (void)pthread_mutex_lock(&link->lock);
    link->running = link->jobs.running;
    (void)pthread_mutex_unlock(&link->lock);
    wd_jobs_tell(&link->jobs);
}

/* The socket is gone, and with it whatever the executor had of us. */
static void lose(wd_link *link, const char *why)
{
    wd_log(WD_LOG_WARN, "executor.lost", WD_KV("why", why),
           WD_KN("jobs", link->jobs.n_sent));
    wd_exec_wire_free(WD_STEAL(link->wire));
    wd_jobs_lose_all(&link->jobs);
    set_ready(link, NULL, why);
}

/* --- what the executor says ------------------------------------------------------------ */

static void hear_ready(wd_link *link, Warded__Exec__V1__ToGate *message)
{
    wd_link_ready *ready = calloc(1, sizeof(*ready));

    if (ready == NULL)
        return;
    ready->refs = 1;
    ready->message = wd_exec_steal_ready(message);
    wd_log(WD_LOG_INFO, "executor.ready", WD_KV("mode", ready->message->mode),
           WD_KN("slots", ready->message->slots));
    set_ready(link, ready, "");
}

static void hear_started(wd_link *link, uint64_t id)
{
    wd_exec_job *job = wd_jobs_find(&link->jobs, id);

    if (job != NULL)
        wd_jobs_started(&link->jobs, job);
}

static void hear_done(wd_link *link, Warded__Exec__V1__ToGate *message)
{
    wd_exec_job *job = wd_jobs_remove(&link->jobs, message->done->job_id);

    if (job == NULL)
        return;
    job->done_message = wd_exec_steal_done(message);
    wd_jobs_end(&link->jobs, job, WD_JOB_DONE);
}

static void hear(void *arg, Warded__Exec__V1__ToGate *message)
{
    wd_link *link = arg;

    switch (message->kind_case) {
    case WARDED__EXEC__V1__TO_GATE__KIND_READY:
        hear_ready(link, message);
        break;
    case WARDED__EXEC__V1__TO_GATE__KIND_STARTED:
        hear_started(link, message->started->job_id);
        break;
    case WARDED__EXEC__V1__TO_GATE__KIND_DONE:
        hear_done(link, message);
        break;
    case WARDED__EXEC__V1__TO_GATE__KIND_UNAVAILABLE:
        set_ready(link, NULL, message->unavailable->message);
        break;
    case WARDED__EXEC__V1__TO_GATE__KIND__NOT_SET:
    case _WARDED__EXEC__V1__TO_GATE__KIND__CASE_IS_INT_SIZE:
        break;
    }
}

/* --- the loop -------------------------------------------------------------------------- */

static bool can_send(const wd_link *link)
{
    return link->wire != NULL && link->jobs.outbox.first != NULL &&
           wd_exec_wire_room(link->wire);
}

/* Write jobs while there is room; a job is in the table from its first byte on. */
static void send_jobs(wd_link *link)
{
    while (can_send(link)) {
        wd_exec_job *job = wd_jobs_take(&link->jobs);

        if (link->options.before_write != NULL)
            link->options.before_write(link->options.before_write_arg);
        if (wd_exec_wire_run(link->wire, job))
            wd_jobs_sent(&link->jobs, job);
        else
            wd_jobs_end(&link->jobs, job, WD_JOB_UNAVAILABLE);
    }
    wd_error err;
    if (link->wire != NULL && wd_exec_wire_write(link->wire, &err) != WD_OK)
        lose(link, err.msg);
}

/* An executor that is long overdue with any result is not to be trusted with the rest:
 * to close its socket is to have everything killed. But what lies unread here is not its
 * fault. */
static void check_overdue(wd_link *link)
{
    int64_t now = wd_clock_mono_ms(link->options.clock);

    if (now < link->next_tick_ms)
        return;
    link->next_tick_ms = now + TICK_MS;
    if (wd_jobs_overdue(&link->jobs, link->caught_up_ms - OVERDUE_MS))
        lose(link, "the executor did not answer by a job's deadline");
}

static void wait_for_news(wd_link *link)
{
    struct pollfd fds[2] = {{.fd = link->wake, .events = POLLIN}, {.fd = -1}};

    if (link->wire != NULL)
        fds[1] = (struct pollfd){.fd = wd_exec_wire_fd(link->wire),
                                 .events = wd_exec_wire_events(link->wire)};
    int n = poll(fds, 2, link->jobs.n_sent > 0 ? TICK_MS : -1);
    if (n >= 0 && (fds[1].revents & POLLIN) == 0)
        link->caught_up_ms = wd_clock_mono_ms(link->options.clock);
    if (n <= 0)
        return;
    if ((fds[0].revents & POLLIN) != 0) {
        uint64_t count;
        (void)!read(link->wake, &count, sizeof(count));
    }
    wd_error err;
    if ((fds[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0 &&
        wd_exec_wire_read(link->wire, hear, link, &err) != WD_OK)
        lose(link, err.msg);
}

typedef struct news {
    wd_task *tasks;
    int fresh;
    bool stopping;
} news;

static news take_news(wd_link *link)
{
    (void)pthread_mutex_lock(&link->lock);
    news taken = {link->first, link->fresh, link->stopping};
    link->first = link->last = NULL;
    link->fresh = -1;
    (void)pthread_mutex_unlock(&link->lock);
    return taken;
}

static void use_socket(wd_link *link, int fd)
{
    if (link->wire != NULL)
        lose(link, "the executor was replaced");
    link->wire = wd_exec_wire_new(fd);
    if (link->wire == NULL)
        wd_log_event(WD_LOG_ERROR, "executor.no_memory");
}

static void run_tasks(wd_task *task)
{
    while (task != NULL) {
        wd_task *next = task->next; /* the task may free itself */
        task->run(task);
        task = next;
    }
}

static void *loop(void *arg)
{
    wd_link *link = arg;

    for (;;) {
        news now = take_news(link);
        if (now.fresh >= 0)
            use_socket(link, now.fresh);
        run_tasks(now.tasks);
        tell_ended(link);
        if (now.stopping)
            break;
        do {
            send_jobs(link);
            tell_ended(link); /* which may bring new jobs */
        } while (can_send(link));
        wait_for_news(link);
        check_overdue(link);
    }
    wd_exec_wire_free(WD_STEAL(link->wire));
    wd_jobs_lose_all(&link->jobs);
    tell_ended(link);
    return NULL;
}

/* --- from outside ---------------------------------------------------------------------- */

static void wake(wd_link *link)
{
    uint64_t one = 1;
    (void)!write(link->wake, &one, sizeof(one));
}

wd_status wd_link_start(const wd_link_options *options, wd_link **ret_link,
                        wd_error *err)
{
    wd_link *link = calloc(1, sizeof(*link));

    if (link == NULL)
        return wd_fail(err, WD_INTERNAL, "no memory for the executor's link");
    link->options = *options;
    atomic_store(&link->queue, options->queue);
    link->fresh = -1;
    (void)snprintf(link->problem, sizeof(link->problem), "no executor yet");
    (void)pthread_mutex_init(&link->lock, NULL);
    link->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (link->wake < 0 || pthread_create(&link->thread, NULL, loop, link) != 0) {
        if (link->wake >= 0)
            (void)close(link->wake);
        free(link);
        return wd_fail(err, WD_INTERNAL, "can't start the executor link's thread");
    }
    (void)pthread_setname_np(link->thread, "executor");
    *ret_link = link;
    return WD_OK;
}

void wd_link_attach(wd_link *link, int fd)
{
    (void)pthread_mutex_lock(&link->lock);
    int unused = link->fresh;
    link->fresh = fd;
    (void)pthread_mutex_unlock(&link->lock);
    if (unused >= 0)
        (void)close(unused);
    wake(link);
}

void wd_link_post(wd_link *link, wd_task *task)
{
    task->next = NULL;
    (void)pthread_mutex_lock(&link->lock);
    if (link->last != NULL)
        link->last->next = task;
    else
        link->first = task;
    link->last = task;
    (void)pthread_mutex_unlock(&link->lock);
    wake(link);
}

void wd_link_stop(wd_link *link)
{
    if (link == NULL)
        return;
    (void)pthread_mutex_lock(&link->lock);
    link->stopping = true;
    (void)pthread_mutex_unlock(&link->lock);
    wake(link);
    (void)pthread_join(link->thread, NULL);

    if (link->fresh >= 0)
        (void)close(link->fresh);
    drop_ready(link->ready);
    (void)close(link->wake);
    (void)pthread_mutex_destroy(&link->lock);
    free(link);
}
