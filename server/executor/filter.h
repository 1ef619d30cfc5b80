/* filter.h - the system calls that an action may make.
 *
 * An allow-list. What it does not name answers ENOSYS, as if the kernel were older, so
 * that programs fall back; what is known and dangerous answers EPERM; another
 * architecture's call (int 0x80, x32) kills the process. Arguments decide for clone (no
 * new namespaces), socket (AF_UNIX, AF_INET, AF_INET6), ioctl, fcntl, prctl,
 * personality and mknod. The lists are in filter_lists.h.
 *
 * Built once: libseccomp takes some 10 ms for it. The only file that uses libseccomp.
 *
 * Threads: any.  Source: seccomp(2), libseccomp's man pages. */
#ifndef WD_EXECUTOR_FILTER_H
#define WD_EXECUTOR_FILTER_H

#include "proto/c/status.h"

/* A sealed memfd with the filter, struct sock_filter[]; the caller's.
 * Errors: UNAVAILABLE "seccomp: ..." */
WD_MUST_USE wd_status wd_filter_build(int *ret_fd, wd_error *err);

#endif
