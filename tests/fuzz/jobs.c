/* The job socket, both ways: frames in any cut, what warded-execd decodes, and what the
 * gate hears and makes text of. */
#include <sys/socket.h>
#include <unistd.h>

#include "proto/c/frame.h"
#include "proto/c/limits.h"
#include "proto/c/message.h"
#include "server/executor_wire.h"
#include "server/service/output.h"
#include "server/service/verdict.h"
#include "tests/fuzz/fuzz.h"

/* The next frame by the same rule, written down once more. false: none is whole. */
static bool next_frame(wd_span *in, wd_span *ret_frame)
{
    wd_span rest = *in;
    uint32_t length = rest.size < WD_FRAME_HEAD_BYTES ? 0 : fuzz_u32(&rest);

    if (in->size < WD_FRAME_HEAD_BYTES || rest.size < length)
        return false;
    *ret_frame = fuzz_bytes(&rest, length);
    *in = rest;
    return true;
}

/* What execd does with a frame (server/executor/execd_jobs.c). */
static void hear_at_execd(wd_span frame)
{
    WD_AUTO(wd_budget) *budget = wd_budget_new(frame.size);
    ProtobufCMessage *message = NULL;
    wd_error err = {.status = WD_OK};

    FUZZ_CHECK(budget != NULL);
    wd_status status = wd_message_decode(&warded__exec__v1__to_executor__descriptor,
                                         frame, budget, &message, &err);
    FUZZ_CHECK(wd_budget_used(budget) <= wd_budget_limit(budget));
    if (status != WD_OK)
        fuzz_check_refusal(status, &err);
    else
        fuzz_check_texts(message);
}

static void check_frames(wd_span stream, uint32_t cuts)
{
    WD_AUTO(wd_frame_reader) *reader = wd_frame_reader_new(WD_JOB_FRAME_BYTES);
    wd_span in = stream;
    wd_span seen = {NULL, 0}, frame = {NULL, 0};
    wd_error err = {.status = WD_OK};

    FUZZ_CHECK(reader != NULL);
    while (in.size > 0) {
        wd_span chunk = fuzz_bytes(&in, 1 + fuzz_next(&cuts) % 61);
        wd_status status = wd_frame_feed(reader, chunk, &err);
        if (status != WD_OK) {
            fuzz_check_refusal(status, &err);
            return;
        }
        while (wd_frame_next(reader, &seen)) {
            FUZZ_CHECK(next_frame(&stream, &frame));
            FUZZ_CHECK(fuzz_equal(seen, frame));
            hear_at_execd(seen);
        }
    }
    FUZZ_CHECK(!next_frame(&stream, &frame));
}

static void check_output(const Warded__Exec__V1__Output *from, size_t keep)
{
    WD_AUTO(wd_budget) *budget = wd_budget_new(wd_output_bound(from));
    wd_output out;

    FUZZ_CHECK(budget != NULL);
    FUZZ_CHECK(wd_output_make(from, keep, budget, &out, NULL) == WD_OK);
    Warded__V1__Content content = WARDED__V1__CONTENT__INIT;
    content.kind_case = WARDED__V1__CONTENT__KIND_TEXT;
    content.text = (char *)(uintptr_t)out.text;
    fuzz_check_texts(&content.base);
    FUZZ_CHECK(out.head_bytes + out.tail_bytes <= keep);
    FUZZ_CHECK(out.cut || out.tail_bytes == 0);
}

static void hear_at_gate(void *arg, Warded__Exec__V1__ToGate *message)
{
    const size_t *keep = arg;
    const Warded__Exec__V1__Done *done = NULL;

    fuzz_check_texts(&message->base);
    if (message->kind_case == WARDED__EXEC__V1__TO_GATE__KIND_READY)
        wd_exec_ready_free(wd_exec_steal_ready(message));
    if (message->kind_case != WARDED__EXEC__V1__TO_GATE__KIND_DONE)
        return;
    done = message->done;
    wd_verdict verdict = wd_verdict_of(WD_JOB_DONE, done);
    FUZZ_CHECK(wd_verdict_name(verdict.status) != NULL);
    check_output(done->out, *keep);
    check_output(done->err, *keep);
    wd_exec_done_free(wd_exec_steal_done(message));
}

static void check_gate(wd_span stream, size_t keep)
{
    int ends[2];
    wd_error err = {.status = WD_OK};
    wd_status status = WD_OK;

    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    FUZZ_CHECK(stream.size == 0 ||
               write(ends[1], stream.data, stream.size) == (ssize_t)stream.size);
    (void)close(ends[1]);
    wd_exec_wire *wire = wd_exec_wire_new(ends[0]);
    FUZZ_CHECK(wire != NULL);
    while (status == WD_OK)
        status = wd_exec_wire_read(wire, hear_at_gate, &keep, &err);
    fuzz_check_error(status, &err);
    wd_exec_wire_free(wire);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wd_span in = {data, size};
    uint8_t way = fuzz_byte(&in);
    uint8_t number = fuzz_byte(&in);

    if ((way & 1) != 0)
        check_frames(in, number);
    else
        check_gate(in, 256U + number);
    return 0;
}
