#include "server/signals.h"

#include "proto/c/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/signalfd.h>

wd_status wd_run_lock(const char *run_dir, int *ret_fd, wd_error *err)
{
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/lock", run_dir);
    WD_AUTO_FD int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return wd_fail(err, WD_FAILED_PRECONDITION, "%s: %s", path, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return wd_fail(err, WD_FAILED_PRECONDITION,
                       "%s is held: 'warded serve' runs here already; see 'warded "
                       "health'",
                       path);
    *ret_fd = WD_STEAL_FD(fd);
    return WD_OK;
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
