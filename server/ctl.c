#include "server/ctl.h"

#include "proto/c/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define CTL_NAME    "ctl.sock"
#define ASK_SECONDS 5

/* A name of at most 108 bytes for a socket in a folder of any depth. */
static wd_status make_address(const char *run_dir, struct sockaddr_un *ret_address,
                              int *ret_dir, wd_error *err)
{
    *ret_dir = open(run_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*ret_dir < 0)
        return wd_fail(err,
                       errno == EACCES ? WD_PERMISSION_DENIED : WD_FAILED_PRECONDITION,
                       "%s: %s%s", run_dir, strerror(errno), wd_rights_cure(errno));
    memset(ret_address, 0, sizeof(*ret_address));
    ret_address->sun_family = AF_UNIX;
    (void)snprintf(ret_address->sun_path, sizeof(ret_address->sun_path),
                   "/proc/self/fd/%d/" CTL_NAME, *ret_dir);
    return WD_OK;
}

wd_status wd_ctl_listen(const char *run_dir, int *ret_fd, wd_error *err)
{
    struct sockaddr_un address;
    WD_AUTO_FD int dir = -1;
    WD_TRY(make_address(run_dir, &address, &dir, err));
    WD_AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)unlinkat(dir, CTL_NAME, 0);
    mode_t before = umask(0177);
    int bound = fd < 0 ? -1 : bind(fd, (struct sockaddr *)&address, sizeof(address));
    int why = errno;
    (void)umask(before);
    if (bound != 0 || listen(fd, 16) != 0)
        return wd_fail(err, WD_FAILED_PRECONDITION, "%s/" CTL_NAME ": %s", run_dir,
                       strerror(why));
    *ret_fd = WD_STEAL_FD(fd);
    return WD_OK;
}

void wd_ctl_close(const char *run_dir, int fd)
{
    WD_AUTO_FD int dir = open(run_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)close(fd);
    if (dir >= 0)
        (void)unlinkat(dir, CTL_NAME, 0);
}

void wd_ctl_answer(int fd, const char *text)
{
    WD_AUTO_FD int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (peer >= 0)
        (void)!send(peer, text, strlen(text), MSG_NOSIGNAL);
}

wd_status wd_ctl_ask(const char *run_dir, char *out, wd_error *err)
{
    struct sockaddr_un address;
    WD_AUTO_FD int dir = -1;
    wd_status found = make_address(run_dir, &address, &dir, err);
    if (found == WD_PERMISSION_DENIED)
        return found;
    if (found != WD_OK)
        return wd_fail(err, WD_UNAVAILABLE, "%s is not there: warded does not run",
                       run_dir);
    WD_AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval limit = {.tv_sec = ASK_SECONDS};
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) != 0)
        return wd_fail(err, WD_INTERNAL, "socket: %s", strerror(errno));
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        return wd_fail(err, errno == EACCES ? WD_PERMISSION_DENIED : WD_UNAVAILABLE,
                       "%s/" CTL_NAME ": %s%s", run_dir, strerror(errno),
                       errno == EACCES ? "; ask as the user that runs 'warded serve'"
                                       : ": warded does not run");
    size_t used = 0;
    ssize_t got = 0;
    while (used < WD_CTL_TEXT_BYTES - 1 &&
           (got = recv(fd, out + used, WD_CTL_TEXT_BYTES - 1 - used, 0)) > 0)
        used += (size_t)got;
    out[used] = '\0';
    if (used == 0)
        return wd_fail(err, WD_UNAVAILABLE, "%s/" CTL_NAME ": no answer", run_dir);
    return WD_OK;
}

bool wd_ctl_find(const char *text, const char *key, char *out, size_t size)
{
    size_t n = strlen(key);
    for (const char *line = text; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        if (length > n && strncmp(line, key, n) == 0 && line[n] == '=') {
            (void)snprintf(out, size, "%.*s", (int)(length - n - 1), line + n + 1);
            return true;
        }
        line += length + (line[length] == '\n');
    }
    return false;
}
