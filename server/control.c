#include "server/control.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* Room for one descriptor, aligned as cmsg(3) asks. */
typedef union control_room {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
} control_room;

static void attach_fd(struct msghdr *header, control_room *room, int fd)
{
    memset(room, 0, sizeof(*room));
    header->msg_control = room->bytes;
    header->msg_controllen = sizeof(room->bytes);
    struct cmsghdr *part = CMSG_FIRSTHDR(header);
    WD_ASSERT(part != NULL);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(part), &fd, sizeof(fd));
}

wd_status wd_control_send(int control, wd_control_kind kind, int pass_fd,
                          const char *text, wd_error *err)
{
    char byte = (char)kind;
    char body[WD_CONTROL_TEXT_BYTES];
    size_t length = text != NULL ? strnlen(text, sizeof(body)) : 0;
    if (length > 0)
        memcpy(body, text, length);
    struct iovec parts[2] = {{&byte, 1}, {body, length}};
    struct msghdr header = {.msg_iov = parts, .msg_iovlen = 2};
    control_room room;
    if (pass_fd >= 0)
        attach_fd(&header, &room, pass_fd);

    ssize_t sent = -1;
    do {
        sent = sendmsg(control, &header, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0)
        return wd_fail(err, WD_UNAVAILABLE, "control message '%c' not sent: %s", byte,
                       strerror(errno));
    return WD_OK;
}

/* The one descriptor of a message; -1 for none. The room has space for two (padding):
 * more than one is nothing that we send, and all of them are closed. */
static int attached_fd(struct msghdr *header)
{
    struct cmsghdr *part = CMSG_FIRSTHDR(header);
    if (part == NULL || part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
        return -1;
    int fds[2] = {-1, -1};
    size_t n = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    if (n == 0 || n > 2)
        return -1;
    memcpy(fds, CMSG_DATA(part), n * sizeof(int));
    if (n == 1)
        return fds[0];
    (void)close(fds[0]);
    (void)close(fds[1]);
    return -1;
}

static wd_status check_kind(char byte, int fd, wd_error *err)
{
    bool carries = byte == (char)WD_CONTROL_CHANNEL;
    if (byte == 0 || strchr("XSHRKF", byte) == NULL)
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "control message of unknown kind 0x%02x",
                       (unsigned)(unsigned char)byte);
    if (carries != (fd >= 0))
        return wd_fail(err, WD_INVALID_ARGUMENT, "control message '%c' %s a descriptor",
                       byte, carries ? "without" : "with");
    return WD_OK;
}

wd_status wd_control_receive(int control, wd_control_message *ret_message,
                             wd_error *err)
{
    char byte = 0;
    memset(ret_message, 0, sizeof(*ret_message));
    ret_message->fd = -1;
    control_room room;
    struct iovec parts[2] = {{&byte, 1}, {ret_message->text, WD_CONTROL_TEXT_BYTES}};
    struct msghdr header = {.msg_iov = parts,
                            .msg_iovlen = 2,
                            .msg_control = room.bytes,
                            .msg_controllen = sizeof(room.bytes)};
    ssize_t got = -1;
    do { /* A peer that ended with messages unread resets, once: its own come after. */
        got = recvmsg(control, &header, MSG_CMSG_CLOEXEC);
    } while (got < 0 && (errno == EINTR || errno == ECONNRESET));
    if (got < 0 && errno == EAGAIN)
        return wd_fail(err, WD_UNAVAILABLE, "no control message yet");
    if (got <= 0) { /* an error means the same as the end: nobody is there */
        ret_message->kind = WD_CONTROL_END;
        return WD_OK;
    }
    WD_AUTO_FD int fd = attached_fd(&header);
    WD_TRY(check_kind(byte, fd, err));
    ret_message->kind = (wd_control_kind)byte;
    ret_message->fd = WD_STEAL_FD(fd);
    return WD_OK;
}
