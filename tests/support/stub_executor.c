#include "tests/support/stub_executor.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/c/cleanup.h"
#include "proto/c/frame.h"
#include "proto/c/limits.h"
#include "warded/exec/v1/job.pb-c.h"

#define KILLED 9 /* wait status of SIGKILL */

typedef struct held {
    struct held *next;
    uint64_t id;
    int64_t end_by_ms;
    bool started;
} held;

struct wd_stub {
    int fd;
    wd_frame_reader *in;
    held *first;
    wd_stub_counts counts;
};

static void say(wd_stub *stub, const Warded__Exec__V1__ToGate *message)
{
    WD_AUTO_BUFFER out = WD_BUFFER_INIT;
    size_t at = 0;

    WD_ASSERT(wd_frame_append(&out, &message->base, WD_JOB_FRAME_BYTES, NULL) == WD_OK);
    while (at < out.size) {
        ssize_t n = send(stub->fd, out.data + at, out.size - at, MSG_NOSIGNAL);
        if (n <= 0)
            return; /* the gate is gone; the next read tells */
        at += (size_t)n;
    }
}

static void say_started(wd_stub *stub, uint64_t id)
{
    Warded__Exec__V1__Started started = WARDED__EXEC__V1__STARTED__INIT;
    Warded__Exec__V1__ToGate message = WARDED__EXEC__V1__TO_GATE__INIT;

    started.job_id = id;
    message.kind_case = WARDED__EXEC__V1__TO_GATE__KIND_STARTED;
    message.started = &started;
    say(stub, &message);
}

static void say_done(wd_stub *stub, Warded__Exec__V1__Done *done)
{
    Warded__Exec__V1__ToGate message = WARDED__EXEC__V1__TO_GATE__INIT;

    message.kind_case = WARDED__EXEC__V1__TO_GATE__KIND_DONE;
    message.done = done;
    say(stub, &message);
}

static void end(wd_stub *stub, const held *job, Warded__Exec__V1__Done__Cause cause)
{
    Warded__Exec__V1__Done done = WARDED__EXEC__V1__DONE__INIT;

    done.job_id = job->id;
    done.cause = cause;
    done.outcome = job->started ? WARDED__EXEC__V1__DONE__OUTCOME__ENDED
                                : WARDED__EXEC__V1__DONE__OUTCOME__NOT_STARTED;
    if (job->started && cause != WARDED__EXEC__V1__DONE__CAUSE__NONE)
        done.wait_status = KILLED;
    say_done(stub, &done);
}

static void end_with(wd_stub *stub, const Warded__Exec__V1__Run *run,
                     ProtobufCBinaryData output)
{
    Warded__Exec__V1__Output out = WARDED__EXEC__V1__OUTPUT__INIT;
    Warded__Exec__V1__Done done = WARDED__EXEC__V1__DONE__INIT;

    out.data = output;
    out.original_bytes = out.head_bytes = output.len;
    done.job_id = run->job_id;
    done.outcome = WARDED__EXEC__V1__DONE__OUTCOME__ENDED;
    done.out = &out;
    say_started(stub, run->job_id);
    say_done(stub, &done);
}

static bool is(const Warded__Exec__V1__Run *run, const char *word)
{
    size_t size = strlen(word);
    return run->code.len >= size && memcmp(run->code.data, word, size) == 0;
}

static void take(wd_stub *stub, const Warded__Exec__V1__Run *run, bool start)
{
    held *job = calloc(1, sizeof(*job));

    WD_ASSERT(job != NULL);
    job->id = run->job_id;
    job->end_by_ms = (int64_t)run->end_by_ms;
    job->started = start;
    job->next = stub->first;
    stub->first = job;
    stub->counts.running++;
    if (start)
        say_started(stub, job->id);
}

/* What follows `word` up to the end of the line; false: the code begins otherwise. */
static bool word_path(const Warded__Exec__V1__Run *run, const char *word,
                      char path[256])
{
    if (!is(run, word))
        return false;
    size_t size = run->code.len - strlen(word);
    WD_ASSERT(size < 256);
    memcpy(path, run->code.data + strlen(word), size);
    path[size] = '\0';
    path[strcspn(path, "\n")] = '\0';
    return true;
}

static bool end_big(wd_stub *stub, const Warded__Exec__V1__Run *run)
{
    char digits[256];

    if (!word_path(run, "big ", digits))
        return false;
    ProtobufCBinaryData output = {strtoul(digits, NULL, 10), NULL};
    output.data = malloc(output.len + 1);
    WD_ASSERT(output.data != NULL);
    memset(output.data, 'x', output.len);
    end_with(stub, run, output);
    free(output.data);
    return true;
}

static void touch(const Warded__Exec__V1__Run *run)
{
    char path[256];

    if (!word_path(run, "touch ", path))
        return;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    WD_ASSERT(fd >= 0 && close(fd) == 0);
}

static void note(const Warded__Exec__V1__Run *run)
{
    char path[256];

    if (!word_path(run, "note ", path))
        return;
    size_t head = strlen("note ") + strlen(path) + 1;
    WD_ASSERT(head < run->code.len);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    ssize_t size = (ssize_t)(run->code.len - head);
    WD_ASSERT(fd >= 0 && write(fd, run->code.data + head, (size_t)size) == size);
    WD_ASSERT(close(fd) == 0);
}

static void hear_run(wd_stub *stub, const Warded__Exec__V1__Run *run)
{
    stub->counts.jobs++;
    if (is(run, "hold") || is(run, "queue")) {
        take(stub, run, is(run, "hold"));
        return;
    }
    if (end_big(stub, run))
        return;
    if (!is(run, "fail")) {
        touch(run);
        note(run);
        end_with(stub, run, run->code);
        return;
    }
    Warded__Exec__V1__Done done = WARDED__EXEC__V1__DONE__INIT;
    done.job_id = run->job_id;
    done.outcome = WARDED__EXEC__V1__DONE__OUTCOME__FAILED;
    say_done(stub, &done);
}

/* Unlink and free the job at *at. */
static void drop(wd_stub *stub, held **at)
{
    held *job = *at;

    *at = job->next;
    stub->counts.running--;
    free(job);
}

static void hear_cancel(wd_stub *stub, uint64_t id)
{
    for (held **at = &stub->first; *at != NULL; at = &(*at)->next) {
        if ((*at)->id != id)
            continue;
        stub->counts.cancelled++;
        end(stub, *at, WARDED__EXEC__V1__DONE__CAUSE__CANCEL);
        drop(stub, at);
        return;
    }
}

static void hear(wd_stub *stub, wd_span frame)
{
    Warded__Exec__V1__ToExecutor *message =
        warded__exec__v1__to_executor__unpack(NULL, frame.size, frame.data);

    WD_ASSERT(message != NULL);
    if (message->kind_case == WARDED__EXEC__V1__TO_EXECUTOR__KIND_RUN)
        hear_run(stub, message->run);
    else if (message->kind_case == WARDED__EXEC__V1__TO_EXECUTOR__KIND_CANCEL)
        hear_cancel(stub, message->cancel->job_id);
    warded__exec__v1__to_executor__free_unpacked(message, NULL);
}

bool wd_stub_read(wd_stub *stub)
{
    uint8_t bytes[65536];
    ssize_t n = recv(stub->fd, bytes, sizeof(bytes), 0);
    wd_span frame;

    if (n <= 0)
        return false;
    WD_ASSERT(wd_frame_feed(stub->in, (wd_span){bytes, (size_t)n}, NULL) == WD_OK);
    while (wd_frame_next(stub->in, &frame))
        hear(stub, frame);
    return true;
}

int64_t wd_stub_tick(wd_stub *stub, int64_t now_ms)
{
    int64_t next = -1;

    for (held **at = &stub->first; *at != NULL;) {
        held *job = *at;
        if (job->end_by_ms <= now_ms) {
            end(stub, job,
                job->started ? WARDED__EXEC__V1__DONE__CAUSE__WALL
                             : WARDED__EXEC__V1__DONE__CAUSE__NONE);
            drop(stub, at);
            continue;
        }
        if (next < 0 || job->end_by_ms < next)
            next = job->end_by_ms;
        at = &job->next;
    }
    return next;
}

void wd_stub_finish(wd_stub *stub)
{
    while (stub->first != NULL) {
        end(stub, stub->first, WARDED__EXEC__V1__DONE__CAUSE__NONE);
        drop(stub, &stub->first);
    }
}

wd_stub *wd_stub_new(int fd)
{
    Warded__Exec__V1__Ready ready = WARDED__EXEC__V1__READY__INIT;
    Warded__Exec__V1__ToGate message = WARDED__EXEC__V1__TO_GATE__INIT;
    wd_stub *stub = calloc(1, sizeof(*stub));
    char mode[] = "stub";

    WD_ASSERT(stub != NULL);
    stub->fd = fd;
    stub->in = wd_frame_reader_new(WD_JOB_FRAME_BYTES);
    WD_ASSERT(stub->in != NULL);
    ready.mode = mode;
    ready.slots = 4096;
    message.kind_case = WARDED__EXEC__V1__TO_GATE__KIND_READY;
    message.ready = &ready;
    say(stub, &message);
    return stub;
}

void wd_stub_free(wd_stub *stub)
{
    if (stub == NULL)
        return;
    while (stub->first != NULL)
        drop(stub, &stub->first);
    (void)close(stub->fd);
    wd_frame_reader_free(stub->in);
    free(stub);
}

int wd_stub_fd(const wd_stub *stub)
{
    return stub->fd;
}

wd_stub_counts wd_stub_count(const wd_stub *stub)
{
    return stub->counts;
}
