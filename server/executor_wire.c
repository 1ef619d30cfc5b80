#include "server/executor_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/c/frame.h"
#include "proto/c/limits.h"
#include "proto/c/message.h"

#define WAITING_BYTES (1U << 20) /* encoded, not yet written */
#define READ_BYTES    (64U << 10)

struct wd_exec_wire {
    int fd;
    wd_buffer out;
    wd_frame_reader *in;
};

wd_exec_wire *wd_exec_wire_new(int fd)
{
    wd_exec_wire *wire = calloc(1, sizeof(*wire));
    int flags = fcntl(fd, F_GETFL);

    if (wire != NULL)
        wire->in = wd_frame_reader_new(WD_JOB_FRAME_BYTES);
    if (wire == NULL || wire->in == NULL || flags < 0 ||
        fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
        (void)close(fd);
        if (wire != NULL)
            wd_frame_reader_free(wire->in);
        free(wire);
        return NULL;
    }
    wire->fd = fd;
    return wire;
}

void wd_exec_wire_free(wd_exec_wire *wire)
{
    if (wire == NULL)
        return;
    (void)close(wire->fd);
    wd_buffer_done(&wire->out);
    wd_frame_reader_free(wire->in);
    free(wire);
}

int wd_exec_wire_fd(const wd_exec_wire *wire)
{
    return wire->fd;
}

short wd_exec_wire_events(const wd_exec_wire *wire)
{
    return wire->out.size > 0 ? POLLIN | POLLOUT : POLLIN;
}

bool wd_exec_wire_room(const wd_exec_wire *wire)
{
    return wire->out.size < WAITING_BYTES;
}

static bool encode(wd_exec_wire *wire, const Warded__Exec__V1__ToExecutor *message)
{
    return wd_frame_append(&wire->out, &message->base, WD_JOB_FRAME_BYTES, NULL) ==
           WD_OK;
}

/* protobuf-c has no const; it only reads. */
static ProtobufCBinaryData bytes_of(wd_span span)
{
    return (ProtobufCBinaryData){.len = span.size,
                                 .data = (uint8_t *)(uintptr_t)span.data};
}

bool wd_exec_wire_run(wd_exec_wire *wire, const wd_exec_job *job)
{
    Warded__Exec__V1__Limits limits = job->limits;
    Warded__Exec__V1__Run run = WARDED__EXEC__V1__RUN__INIT;
    Warded__Exec__V1__ToExecutor message = WARDED__EXEC__V1__TO_EXECUTOR__INIT;

    run.job_id = job->id;
    run.tool = (char *)(uintptr_t)job->tool;
    run.code = bytes_of(job->code);
    run.stdin_data = bytes_of(job->stdin_data);
    run.limits = &limits;
    run.start_by_ms = (uint64_t)job->start_by_ms;
    run.end_by_ms = (uint64_t)job->end_by_ms;
    message.kind_case = WARDED__EXEC__V1__TO_EXECUTOR__KIND_RUN;
    message.run = &run;
    return encode(wire, &message);
}

void wd_exec_wire_cancel(wd_exec_wire *wire, uint64_t job_id)
{
    Warded__Exec__V1__Cancel cancel = WARDED__EXEC__V1__CANCEL__INIT;
    Warded__Exec__V1__ToExecutor message = WARDED__EXEC__V1__TO_EXECUTOR__INIT;

    cancel.job_id = job_id;
    message.kind_case = WARDED__EXEC__V1__TO_EXECUTOR__KIND_CANCEL;
    message.cancel = &cancel;
    (void)encode(wire, &message); /* no memory: the job ends at its deadline */
}

wd_status wd_exec_wire_write(wd_exec_wire *wire, wd_error *err)
{
    while (wire->out.size > 0) {
        ssize_t n = send(wire->fd, wire->out.data, wire->out.size, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return WD_OK;
        if (n < 0)
            return wd_fail(err, WD_UNAVAILABLE, "the executor is gone: %s",
                           strerror(errno));
        wd_buffer_drop(&wire->out, (size_t)n);
    }
    return WD_OK;
}

/* What it says ends up in replies, whose text must be UTF-8. */
static wd_status decode(wd_span frame, Warded__Exec__V1__ToGate **ret, wd_error *err)
{
    wd_error why;

    if (wd_message_check(&warded__exec__v1__to_gate__descriptor, frame, &why) != WD_OK)
        return wd_fail(err, WD_UNAVAILABLE, "what the executor sent can't be read: %s",
                       why.msg);
    *ret = warded__exec__v1__to_gate__unpack(NULL, frame.size, frame.data);
    if (*ret == NULL)
        return wd_fail(err, WD_UNAVAILABLE,
                       "the executor sent %zu bytes that are no message", frame.size);
    return WD_OK;
}

static wd_status tell(wd_exec_wire *wire, wd_exec_hear *hear, void *arg, wd_error *err)
{
    wd_span frame;

    while (wd_frame_next(wire->in, &frame)) {
        Warded__Exec__V1__ToGate *message = NULL;
        WD_TRY(decode(frame, &message, err));
        hear(arg, message);
        warded__exec__v1__to_gate__free_unpacked(message, NULL);
    }
    return WD_OK;
}

wd_status wd_exec_wire_read(wd_exec_wire *wire, wd_exec_hear *hear, void *arg,
                            wd_error *err)
{
    uint8_t bytes[READ_BYTES];
    ssize_t n = recv(wire->fd, bytes, sizeof(bytes), 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return WD_OK;
    if (n < 0)
        return wd_fail(err, WD_UNAVAILABLE, "the executor is gone: %s",
                       strerror(errno));
    if (n == 0)
        return wd_fail(err, WD_UNAVAILABLE, "the executor is gone");
    WD_TRY(wd_frame_feed(wire->in, (wd_span){bytes, (size_t)n}, err));
    return tell(wire, hear, arg, err);
}

Warded__Exec__V1__Ready *wd_exec_steal_ready(Warded__Exec__V1__ToGate *message)
{
    message->kind_case = WARDED__EXEC__V1__TO_GATE__KIND__NOT_SET;
    return WD_STEAL(message->ready);
}

Warded__Exec__V1__Done *wd_exec_steal_done(Warded__Exec__V1__ToGate *message)
{
    message->kind_case = WARDED__EXEC__V1__TO_GATE__KIND__NOT_SET;
    return WD_STEAL(message->done);
}

void wd_exec_ready_free(Warded__Exec__V1__Ready *ready)
{
    warded__exec__v1__ready__free_unpacked(ready, NULL);
}

void wd_exec_done_free(Warded__Exec__V1__Done *done)
{
    warded__exec__v1__done__free_unpacked(done, NULL);
}
