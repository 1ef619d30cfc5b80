/* Each allocation of the shared code fails once, in turn: the answer is a typed refusal,
 * and nothing leaks (AddressSanitizer looks on). */
#include "proto/c/envelope.h"
#include "proto/c/frame.h"
#include "tests/unit/proto/proto_test.h"
#include "tests/unit/proto/sample.h"
#include "warded/v1/observation.pb-c.h"

/* The names are the linker's (--wrap).
 * NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming) */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

/* How many allocations still succeed; -1: all of them. */
static long *allowed(void)
{
    static long count = -1;
    return &count;
}

static bool may_allocate(void)
{
    long *left = allowed();
    if (*left == 0)
        return false;
    if (*left > 0)
        (*left)--;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return may_allocate() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return may_allocate() ? __real_calloc(count, size) : NULL;
}

/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

typedef wd_status attempt(wd_error *err);

/* Runs `work` with 0, 1, 2, ... allocations until it succeeds; at least one must fail. */
static void fail_each(const char *name, attempt *work)
{
    long tries = 0;
    wd_status status = WD_RESOURCE_EXHAUSTED;
    for (; status != WD_OK && tries < 1000; tries++) {
        wd_error err = {.status = WD_OK};
        *allowed() = tries;
        status = work(&err);
        *allowed() = -1;
        if (status != WD_OK)
            assert_true(err.reason == WD_REASON_CAPACITY ||
                        err.reason == WD_REASON_TOO_LARGE);
    }
    print_message("  %s: %ld allocations\n", name, tries - 1);
    assert_int_equal(status, WD_OK);
    assert_true(tries > 1);
}

static wd_status request_there_and_back(wd_error *err)
{
    wd_request request = sample_request();
    WD_AUTO_BUFFER frame = WD_BUFFER_INIT;
    WD_TRY(wd_request_encode(&request, &frame, err));
    WD_AUTO(wd_request) *got = NULL;
    return wd_request_decode(wd_buffer_span(&frame), &got, err);
}

static wd_status reply_there_and_back(wd_error *err)
{
    const wd_reply reply = {.code = WD_UNAVAILABLE,
                            .reason = WD_REASON_DRAINING,
                            .message = "draining \xFF",
                            .n_metadata = 2,
                            .metadata = sample_metadata,
                            .has_head = true,
                            .head_seq = 4};
    WD_AUTO_BUFFER frame = WD_BUFFER_INIT;
    WD_TRY(wd_reply_encode(&reply, &frame, err));
    WD_AUTO(wd_reply) *got = NULL;
    return wd_reply_decode(wd_buffer_span(&frame), &got, err);
}

static wd_status message_there_and_back(wd_error *err)
{
    Warded__V1__Item item = WARDED__V1__ITEM__INIT;
    char action[6000];
    memset(action, 'x', sizeof(action));
    action[sizeof(action) - 1] = '\0';
    item.action = action;
    WD_AUTO_BUFFER bytes = WD_BUFFER_INIT;
    WD_TRY(wd_message_encode(&item.base, &bytes, err));
    WD_AUTO(wd_budget) *budget = wd_budget_new(bytes.size);
    if (budget == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no budget");
    ProtobufCMessage *got = NULL;
    return wd_message_decode(&warded__v1__item__descriptor, wd_buffer_span(&bytes),
                             budget, &got, err);
}

static wd_status frame_there_and_back(wd_error *err)
{
    Warded__V1__Limits limits = WARDED__V1__LIMITS__INIT;
    limits.wall_ms = 5;
    WD_AUTO_BUFFER stream = WD_BUFFER_INIT;
    WD_TRY(wd_frame_append(&stream, &limits.base, 100, err));
    WD_AUTO(wd_frame_reader) *reader = wd_frame_reader_new(100);
    if (reader == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no reader");
    WD_TRY(wd_frame_feed(reader, wd_buffer_span(&stream), err));
    wd_span frame;
    assert_true(wd_frame_next(reader, &frame));
    return WD_OK;
}

static void each_allocation_may_fail(void **state)
{
    (void)state;
    fail_each("request", request_there_and_back);
    fail_each("reply", reply_there_and_back);
    fail_each("message", message_there_and_back);
    fail_each("frame", frame_there_and_back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
