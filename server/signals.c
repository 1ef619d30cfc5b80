#include "server/signals.h"

#include "proto/c/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* 0: there is none. */
static pid_t read_pid(int fd)
{
    char text[24] = "";
    ssize_t size = pread(fd, text, sizeof(text) - 1, 0);
    return size > 0 ? (pid_t)strtol(text, NULL, 10) : 0;
}

static bool write_pid(int fd)
{
    return ftruncate(fd, 0) == 0 && dprintf(fd, "%d\n", (int)getpid()) > 0;
}

wd_status wd_run_lock(const char *run_dir, int *ret_fd, wd_error *err)
{
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/lock", run_dir);
    WD_AUTO_FD int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return wd_fail(err, WD_FAILED_PRECONDITION, "%s: %s", path, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return wd_refuse(err, WD_REASON_CONFLICT,
                         "%s is held: 'warded serve' runs here already, as process %d; "
                         "see 'warded health', or stop it first (kill %d)",
                         path, (int)read_pid(fd), (int)read_pid(fd));
    if (!write_pid(fd))
        return wd_fail(err, WD_FAILED_PRECONDITION, "%s: %s", path, strerror(errno));
    *ret_fd = WD_STEAL_FD(fd);
    return WD_OK;
}

pid_t wd_run_holder(const char *run_dir)
{
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/lock", run_dir);
    WD_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    pid_t pid = fd >= 0 ? read_pid(fd) : 0;
    /* The lock is not tried where nobody can have it: that could be in a start's way. */
    if (pid <= 0 || (kill(pid, 0) != 0 && errno == ESRCH))
        return 0;
    return flock(fd, LOCK_SH | LOCK_NB) == 0 ? 0 : pid;
}

wd_status wd_signals_open(int *ret_fd, wd_error *err)
{
    sigset_t set;
    (void)sigemptyset(&set);
    const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        (void)sigaddset(&set, numbers[i]);
    (void)signal(SIGPIPE, SIG_IGN);
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
        return wd_fail(err, WD_INTERNAL, "signals: %s", strerror(errno));
    *ret_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (*ret_fd < 0)
        return wd_fail(err, WD_INTERNAL, "signalfd: %s", strerror(errno));
    return WD_OK;
}
