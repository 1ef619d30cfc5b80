#include "server/executor/link.h"

#include "proto/c/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES (256U << 10)

wd_status wd_link_open(wd_link *link, int fd, wd_error *err)
{
    *link = (wd_link){.fd = fd, .reader = wd_frame_reader_new(WD_JOB_FRAME_BYTES)};
    int flags = fcntl(fd, F_GETFL);
    if (link->reader != NULL && flags >= 0 &&
        fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0)
        return WD_OK;
    int error = errno;
    wd_link_close(link);
    return wd_fail(err, WD_INTERNAL, "take the job socket: %s", strerror(error));
}

void wd_link_close(wd_link *link)
{
    if (link->fd >= 0)
        (void)close(link->fd);
    wd_frame_reader_free(link->reader);
    wd_buffer_done(&link->out);
    *link = (wd_link){.fd = -1};
}

wd_status wd_link_read(wd_link *link, wd_link_handler handler, void *self,
                       wd_error *err)
{
    uint8_t bytes[READ_BYTES];
    ssize_t size = recv(link->fd, bytes, sizeof(bytes), 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return WD_OK;
    if (size <= 0)
        return wd_fail(err, WD_UNAVAILABLE, "the gate closed the job socket");
    WD_TRY(wd_frame_feed(link->reader, (wd_span){bytes, (size_t)size}, err));
    for (wd_span frame; wd_frame_next(link->reader, &frame);)
        WD_TRY(handler(self, frame, err));
    return WD_OK;
}

wd_status wd_link_send(wd_link *link, const Warded__Exec__V1__ToGate *message,
                       wd_error *err)
{
    if (link->fd < 0)
        return WD_OK;
    return wd_frame_append(&link->out, &message->base, WD_JOB_FRAME_BYTES, err);
}

bool wd_link_flush(wd_link *link)
{
    size_t sent = 0;
    bool alive = true;
    while (link->fd >= 0 && sent < link->out.size) {
        ssize_t size =
            send(link->fd, link->out.data + sent, link->out.size - sent, MSG_NOSIGNAL);
        if (size < 0) {
            alive = errno == EAGAIN || errno == EINTR;
            break;
        }
        sent += (size_t)size;
    }
    wd_buffer_drop(&link->out, sent);
    return alive;
}
