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

void wd_signals_hold(sigset_t *ret_before)
{
    sigset_t set;
    (void)sigemptyset(&set);
    const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        (void)sigaddset(&set, numbers[i]);
    (void)sigprocmask(SIG_BLOCK, &set, ret_before);
}

void wd_signals_release(const sigset_t *before)
{
    (void)sigprocmask(SIG_SETMASK, before, NULL);
}
