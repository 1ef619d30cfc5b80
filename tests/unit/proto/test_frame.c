#include "proto/c/frame.h"

#include "proto/c/limits.h"
#include "tests/unit/proto/proto_test.h"
#include "warded/exec/v1/job.pb-c.h"

static void append_cancel(wd_buffer *out, uint64_t job_id)
{
    Warded__Exec__V1__Cancel cancel = WARDED__EXEC__V1__CANCEL__INIT;
    cancel.job_id = job_id;
    assert_int_equal(wd_frame_append(out, &cancel.base, WD_JOB_FRAME_BYTES, NULL),
                     WD_OK);
}

static uint64_t job_of(wd_span frame)
{
    Warded__Exec__V1__Cancel *cancel =
        warded__exec__v1__cancel__unpack(NULL, frame.size, frame.data);
    assert_non_null(cancel);
    uint64_t id = cancel->job_id;
    warded__exec__v1__cancel__free_unpacked(cancel, NULL);
    return id;
}

static void frames_arrive_in_any_cut(void **state)
{
    (void)state;
    WD_AUTO_BUFFER stream = WD_BUFFER_INIT;
    for (uint64_t id = 0; id < 40; id++) /* job 0 is an empty message */
        append_cancel(&stream, id * id * id);
    for (size_t step = 1; step <= stream.size; step++) {
        WD_AUTO(wd_frame_reader) *reader = wd_frame_reader_new(64);
        uint64_t next = 0;
        for (size_t at = 0; at < stream.size; at += step) {
            size_t size = stream.size - at < step ? stream.size - at : step;
            wd_span part = {stream.data + at, size};
            assert_int_equal(wd_frame_feed(reader, part, NULL), WD_OK);
            for (wd_span frame; wd_frame_next(reader, &frame); next++)
                assert_true(job_of(frame) == next * next * next);
        }
        assert_int_equal(next, 40);
    }
}

static void a_frame_cut_off_is_none(void **state)
{
    (void)state;
    WD_AUTO_BUFFER stream = WD_BUFFER_INIT;
    append_cancel(&stream, 300);
    for (size_t size = 1; size < stream.size; size++) {
        WD_AUTO(wd_frame_reader) *reader = wd_frame_reader_new(64);
        wd_span frame;
        assert_int_equal(wd_frame_feed(reader, (wd_span){stream.data, size}, NULL),
                         WD_OK);
        assert_false(wd_frame_next(reader, &frame));
    }
}

static void a_length_above_the_limit_is_refused_at_once(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        wd_span bytes;
        bool good;
    } cases[] = {
        {"n-1", BYTES("\x00\x00\x00\x0F"), true},
        {"n", BYTES("\x00\x00\x00\x10"), true},
        {"n+1", BYTES("\x00\x00\x00\x11"), false},
        {"4 GiB", BYTES("\xFF\xFF\xFF\xFF"), false},
        {"behind a good one", BYTES("\x00\x00\x00\x01x\x00\x00\x00\x11"), false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        print_message("  %s\n", cases[i].name);
        WD_AUTO(wd_frame_reader) *reader = wd_frame_reader_new(16);
        wd_error err = {.status = WD_OK};
        wd_status status = wd_frame_feed(reader, cases[i].bytes, &err);
        if (cases[i].good)
            assert_int_equal(status, WD_OK);
        else
            expect_refused(status, &err, WD_REASON_TOO_LARGE);
    }
}

static void a_message_above_the_limit_is_not_written(void **state)
{
    (void)state;
    Warded__Exec__V1__Run run = WARDED__EXEC__V1__RUN__INIT;
    uint8_t code[100] = {0};
    run.code = (ProtobufCBinaryData){.len = sizeof(code), .data = code};
    size_t size = warded__exec__v1__run__get_packed_size(&run);
    for (size_t limit = size - 1; limit <= size + 1; limit++) {
        WD_AUTO_BUFFER out = WD_BUFFER_INIT;
        wd_error err = {.status = WD_OK};
        wd_status status = wd_frame_append(&out, &run.base, limit, &err);
        if (limit < size)
            expect_refused(status, &err, WD_REASON_TOO_LARGE);
        assert_int_equal(out.size, limit < size ? 0 : size + WD_FRAME_HEAD_BYTES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_arrive_in_any_cut),
        cmocka_unit_test(a_frame_cut_off_is_none),
        cmocka_unit_test(a_length_above_the_limit_is_refused_at_once),
        cmocka_unit_test(a_message_above_the_limit_is_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
