#include "server/run_lock.h"

#include "proto/c/cleanup.h"
#include "proto/c/clock.h"
#include "proto/c/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TEXT_BYTES 160 /* three lines */

/* What the file says; "": nothing. */
static void read_text(int fd, char text[TEXT_BYTES])
{
    ssize_t size = pread(fd, text, TEXT_BYTES - 1, 0);
    text[size > 0 ? size : 0] = '\0';
}

/* 0: there is none. */
static pid_t read_pid(int fd)
{
    char text[TEXT_BYTES];
    read_text(fd, text);
    return (pid_t)strtol(text, NULL, 10);
}

/* Whole or not at all: a reader is content with the file's first bytes. */
static bool write_text(int fd, const char *text)
{
    size_t size = strlen(text);
    return pwrite(fd, text, size, 0) == (ssize_t)size &&
           ftruncate(fd, (off_t)size) == 0;
}

void wd_run_lock_note(int fd, const pid_t children[2])
{
    char text[TEXT_BYTES];
    int used = snprintf(text, sizeof(text), "%d\n", (int)getpid());
    for (int i = 0; i < 2; i++) {
        if (children[i] > 0)
            used +=
                snprintf(text + used, sizeof(text) - (size_t)used, "%d %" PRIu64 "\n",
                         (int)children[i], wd_process_start(children[i], NULL));
    }
    (void)!write_text(fd, text);
}

/* --- who was left behind ------------------------------------------------------------ */

/* Until the process, all its threads with it, has let go of what it had. */
static wd_status wait_for(pid_t pid, uint64_t start, int64_t until_ms, wd_error *err)
{
    WD_AUTO_FD int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0 || wd_process_start(pid, NULL) != start)
        return WD_OK; /* gone, and its number may be another's */
    struct pollfd end = {.fd = pidfd, .events = POLLIN};
    int64_t left = 0;
    do {
        left = until_ms - wd_clock_mono_ms(wd_clock_system());
        if (poll(&end, 1, left > 0 ? (int)left : 0) > 0)
            return WD_OK;
    } while (left > 0);
    return wd_fail(
        err, WD_FAILED_PRECONDITION,
        "process %d, of a 'warded serve' that was killed, has not ended yet: "
        "see what it waits for (cat /proc/%d/stack), and start again",
        (int)pid, (int)pid);
}

static wd_status wait_for_children(int fd, int64_t wait_ms, wd_error *err)
{
    char text[TEXT_BYTES];
    int64_t until_ms = wd_clock_mono_ms(wd_clock_system()) + wait_ms;
    read_text(fd, text);
    for (char *line = strchr(text, '\n'); line != NULL; line = strchr(line + 1, '\n')) {
        char *end = NULL;
        pid_t pid = (pid_t)strtol(line, &end, 10);
        if (pid > 0)
            WD_TRY(wait_for(pid, strtoull(end, NULL, 10), until_ms, err));
    }
    return WD_OK;
}

/* --- the lock ----------------------------------------------------------------------- */

wd_status wd_run_lock(const char *run_dir, int64_t wait_ms, int *ret_fd, wd_error *err)
{
    char path[4096];
    const pid_t nobody[2] = {0, 0};
    (void)snprintf(path, sizeof(path), "%s/lock", run_dir);
    WD_AUTO_FD int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return wd_fail(err, WD_FAILED_PRECONDITION, "%s: %s%s", path, strerror(errno),
                       wd_rights_cure(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return wd_refuse(err, WD_REASON_CONFLICT,
                         "%s is held: 'warded serve' runs here already, as process %d; "
                         "see 'warded health', or stop it first (kill %d)",
                         path, (int)read_pid(fd), (int)read_pid(fd));
    WD_TRY(wait_for_children(fd, wait_ms, err));
    wd_run_lock_note(fd, nobody);
    if (read_pid(fd) != getpid())
        return wd_fail(err, WD_FAILED_PRECONDITION, "%s: can't be written", path);
    *ret_fd = WD_STEAL_FD(fd);
    return WD_OK;
}

pid_t wd_run_holder(const char *run_dir)
{
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/lock", run_dir);
    WD_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == EACCES)
        return WD_RUN_HIDDEN;
    pid_t pid = fd >= 0 ? read_pid(fd) : 0;
    /* The lock is not tried where nobody can have it: that could be in a start's way. */
    if (pid <= 0 || (kill(pid, 0) != 0 && errno == ESRCH))
        return 0;
    return flock(fd, LOCK_SH | LOCK_NB) == 0 ? 0 : pid;
}
