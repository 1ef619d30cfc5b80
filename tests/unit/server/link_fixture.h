/* link_fixture.h - a link, and the test as the executor at the other end of its socket.
 *
 * Threads: the test's; the link tells it of events under the fixture's lock.
 * Owns:    the link, our end of the socket, what the job brought. */
#ifndef WD_TESTS_LINK_FIXTURE_H
#define WD_TESTS_LINK_FIXTURE_H

#include <pthread.h>

#include "proto/c/frame.h"
#include "server/executor_link.h"

/* What the link's thread tells the test. */
typedef struct link_fixture {
    wd_link *link;
    int executor; /* our end */
    wd_frame_reader *reader;
    pthread_mutex_t lock;
    pthread_cond_t news;
    int n_done, n_changes, n_writes;
    wd_task task;
    wd_exec_job job;
    bool cancel; /* the task cancels the job, else it runs it */
} link_fixture;

/* For cmocka_unit_test_setup_teardown: *state is a link_fixture. */
int link_set_up(void **state);
int link_tear_down(void **state);

/* Wait until one of the fixture's counters has reached `value`. */
void link_wait_for(link_fixture *f, const int *counter, int value);

/* Have the fixture's job run, or cancelled, on the link's thread. */
void link_run_job(link_fixture *f);
void link_cancel_job(link_fixture *f);

/* A new socket, without and with Ready; the latter waits until the link has heard it. */
void link_attach(link_fixture *f);
void link_connect_ready(link_fixture *f);

/* What an executor says. */
void link_say(link_fixture *f, const Warded__Exec__V1__ToGate *message);
void link_say_ready(link_fixture *f);
void link_say_started(link_fixture *f, uint64_t id);
void link_say_done(link_fixture *f, uint64_t id);

/* What the gate says: the next message (freed by the caller), or the next job's id. */
Warded__Exec__V1__ToExecutor *link_next(link_fixture *f);
uint64_t link_next_run(link_fixture *f);

#endif
