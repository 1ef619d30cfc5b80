#include "server/executor/queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static wd_job *make(uint64_t id, uint64_t start_by_ms)
{
    wd_job *job = calloc(1, sizeof(*job));
    job->budget = wd_budget_new(1024);
    Warded__Exec__V1__Run *run = wd_budget_take(job->budget, sizeof(*run));
    warded__exec__v1__run__init(run);
    run->job_id = id;
    run->start_by_ms = start_by_ms;
    job->run = run;
    job->bytes = 10;
    return job;
}

static void expect(wd_job *job, uint64_t id)
{
    assert_non_null(job);
    assert_int_equal(job->run->job_id, id);
    wd_job_free(job);
}

static void jobs_come_out_in_their_order(void **state)
{
    (void)state;
    wd_queue queue;
    wd_queue_init(&queue);
    assert_null(wd_queue_pop(&queue));
    for (uint64_t id = 1; id <= 3; id++)
        wd_queue_push(&queue, make(id, 0));
    assert_int_equal(queue.count, 3);
    assert_int_equal(queue.bytes, 30);
    for (uint64_t id = 1; id <= 3; id++)
        expect(wd_queue_pop(&queue), id);
    assert_null(wd_queue_pop(&queue));
    wd_queue_push(&queue, make(4, 0));
    expect(wd_queue_pop(&queue), 4);
    wd_queue_done(&queue);
}

static void any_job_can_be_taken_out(void **state)
{
    (void)state;
    for (uint64_t gone = 1; gone <= 3; gone++) {
        wd_queue queue;
        wd_queue_init(&queue);
        for (uint64_t id = 1; id <= 3; id++)
            wd_queue_push(&queue, make(id, 0));
        expect(wd_queue_take(&queue, gone), gone);
        assert_null(wd_queue_take(&queue, gone));
        wd_queue_push(&queue, make(4, 0));
        for (uint64_t id = 1; id <= 4; id++)
            if (id != gone)
                expect(wd_queue_pop(&queue), id);
        assert_int_equal(queue.count, 0);
        assert_int_equal(queue.bytes, 0);
        wd_queue_done(&queue);
    }
}

static void late_jobs_are_found_and_the_next_time_is_known(void **state)
{
    (void)state;
    wd_queue queue;
    wd_queue_init(&queue);
    assert_true(queue.wake_ms == INT64_MAX);
    wd_queue_push(&queue, make(1, 0)); /* no deadline */
    wd_queue_push(&queue, make(2, 300));
    wd_queue_push(&queue, make(3, 100));
    wd_queue_push(&queue, make(4, 100));
    assert_int_equal(queue.wake_ms, 100);
    assert_null(wd_queue_expire(&queue, 99));
    expect(wd_queue_expire(&queue, 100), 3);
    expect(wd_queue_expire(&queue, 100), 4);
    assert_null(wd_queue_expire(&queue, 100));
    assert_int_equal(queue.wake_ms, 300);
    expect(wd_queue_expire(&queue, 1000), 2);
    assert_null(wd_queue_expire(&queue, 1000));
    assert_true(queue.wake_ms == INT64_MAX);
    assert_int_equal(queue.count, 1);
    wd_queue_done(&queue);
}

static void a_time_beyond_all_times_is_no_deadline(void **state)
{
    (void)state;
    wd_queue queue;
    wd_queue_init(&queue);
    wd_queue_push(&queue, make(1, UINT64_MAX));
    assert_null(wd_queue_expire(&queue, INT64_MAX - 1));
    wd_queue_done(&queue); /* frees what is left */
    assert_int_equal(queue.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_come_out_in_their_order),
        cmocka_unit_test(any_job_can_be_taken_out),
        cmocka_unit_test(late_jobs_are_found_and_the_next_time_is_known),
        cmocka_unit_test(a_time_beyond_all_times_is_no_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
