#include "server/executor/filter.h"

#include "proto/c/cleanup.h"
#include "server/executor/filter_lists.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
/* Arguments of ioctl and fcntl are compared by 32 bits: the kernel takes no more (a high bit set
 * once let TIOCSTI through, CVE-2019-10063). */
#define LOW_WORD 0xffffffffUL
#define NEW_NAMESPACES                                                                 \
    (0x00000080UL /* time */ | CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |          \
     CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

/* One argument of a call: its value under `mask` must be `value`. */
static int add_if(scmp_filter_ctx ctx, uint32_t action, int number,
                  struct scmp_arg_cmp condition)
{
    return seccomp_rule_add_array(ctx, action, number, 1, &condition);
}

static struct scmp_arg_cmp equals(unsigned argument, scmp_datum_t value)
{
    return (struct scmp_arg_cmp){.arg = argument, .op = SCMP_CMP_EQ, .datum_a = value};
}

static struct scmp_arg_cmp masked(unsigned argument, scmp_datum_t mask,
                                  scmp_datum_t value)
{
    return (struct scmp_arg_cmp){
        .arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = value};
}

/* A name that this libseccomp or architecture lacks is skipped: ENOSYS. */
static int add_names(scmp_filter_ctx ctx, uint32_t action, const char *const *names,
                     size_t n_names)
{
    for (size_t i = 0; i < n_names; i++) {
        int number = seccomp_syscall_resolve_name(names[i]);
        if (number < 0)
            continue;
        int rc = seccomp_rule_add(ctx, action, number, 0);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* With any of the flags: ENOSYS, as clone3 answers. */
static int add_clone(scmp_filter_ctx ctx)
{
    return add_if(ctx, SCMP_ACT_ALLOW, SCMP_SYS(clone),
                  masked(0, NEW_NAMESPACES | CLONE_PARENT, 0));
}

static int add_socket(scmp_filter_ctx ctx)
{
    for (unsigned family = 0; family < 64; family++) {
        bool allowed = family == AF_UNIX || family == AF_INET || family == AF_INET6;
        uint32_t action = allowed ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EAFNOSUPPORT);
        int rc = add_if(ctx, action, SCMP_SYS(socket), equals(0, family));
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int add_ioctl(scmp_filter_ctx ctx)
{
    static const struct {
        unsigned long request;
        uint32_t action;
    } rules[] = {
        {TIOCSTI, SCMP_ACT_ERRNO(EPERM)}, {TIOCLINUX, SCMP_ACT_ERRNO(EPERM)},
        {TCGETS, SCMP_ACT_ALLOW},         {TIOCGWINSZ, SCMP_ACT_ALLOW},
        {FIONREAD, SCMP_ACT_ALLOW},       {FIONBIO, SCMP_ACT_ALLOW},
        {FIOCLEX, SCMP_ACT_ALLOW},        {FIONCLEX, SCMP_ACT_ALLOW},
        {TIOCGPGRP, SCMP_ACT_ALLOW},      {TIOCSPGRP, SCMP_ACT_ALLOW},
    };
    for (size_t i = 0; i < COUNT(rules); i++) {
        int rc =
            seccomp_rule_add(ctx, rules[i].action, SCMP_SYS(ioctl), 1,
                             SCMP_A1(SCMP_CMP_MASKED_EQ, LOW_WORD, rules[i].request));
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* Not leases and not dnotify, by which files that actions share would tell of one
 * another; not write hints, which stay with a file. */
static int add_fcntl(scmp_filter_ctx ctx)
{
    static const int commands[] = {
        F_DUPFD,     F_DUPFD_CLOEXEC, F_GETFD,  F_SETFD,      F_GETFL,
        F_SETFL,     F_GETLK,         F_SETLK,  F_SETLKW,     F_OFD_GETLK,
        F_OFD_SETLK, F_OFD_SETLKW,    F_SETOWN, F_GETOWN,     F_SETOWN_EX,
        F_GETOWN_EX, F_SETSIG,        F_GETSIG, F_SETPIPE_SZ, F_GETPIPE_SZ,
        F_ADD_SEALS, F_GET_SEALS,
    };
    for (size_t i = 0; i < COUNT(commands); i++) {
        int rc = add_if(ctx, SCMP_ACT_ALLOW, SCMP_SYS(fcntl),
                        masked(1, LOW_WORD, (scmp_datum_t)commands[i]));
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int add_prctl(scmp_filter_ctx ctx)
{
    static const int options[] = {
        PR_SET_NAME,
        PR_GET_NAME,
        PR_SET_PDEATHSIG,
        PR_GET_PDEATHSIG,
        PR_SET_DUMPABLE,
        PR_GET_DUMPABLE,
        PR_CAPBSET_READ,
        PR_SET_NO_NEW_PRIVS,
        PR_GET_NO_NEW_PRIVS,
        PR_GET_SECCOMP,
        PR_SET_CHILD_SUBREAPER,
        PR_GET_CHILD_SUBREAPER,
        PR_GET_TIMERSLACK,
        PR_SET_VMA,
        PR_GET_KEEPCAPS,
        PR_GET_SECUREBITS,
        PR_SET_THP_DISABLE,
        PR_GET_THP_DISABLE,
        PR_CAP_AMBIENT,
    };
    for (size_t i = 0; i < COUNT(options); i++) {
        int rc = add_if(ctx, SCMP_ACT_ALLOW, SCMP_SYS(prctl),
                        equals(0, (scmp_datum_t)options[i]));
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int add_rest(scmp_filter_ctx ctx)
{
    int rc = add_if(ctx, SCMP_ACT_ALLOW, SCMP_SYS(personality), equals(0, 0));
    if (rc == 0) /* the query */
        rc = add_if(ctx, SCMP_ACT_ALLOW, SCMP_SYS(personality), equals(0, LOW_WORD));
    if (rc == 0)
        rc = add_if(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mknodat), masked(2, S_IFMT, S_IFIFO));
#ifdef __NR_mknod
    if (rc == 0)
        rc = add_if(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mknod), masked(1, S_IFMT, S_IFIFO));
#endif
    return rc;
}

static int fill(scmp_filter_ctx ctx)
{
    int rc = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (rc == 0) /* a binary tree: twelve comparisons at most, not hundreds */
        rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (rc == 0)
        rc =
            add_names(ctx, SCMP_ACT_ALLOW, wd_filter_allowed, COUNT(wd_filter_allowed));
    if (rc == 0)
        rc = add_names(ctx, SCMP_ACT_ERRNO(EPERM), wd_filter_denied,
                       COUNT(wd_filter_denied));
    int (*const parts[])(scmp_filter_ctx) = {add_clone, add_socket, add_ioctl,
                                             add_fcntl, add_prctl,  add_rest};
    for (size_t i = 0; rc == 0 && i < COUNT(parts); i++)
        rc = parts[i](ctx);
    return rc;
}

wd_status wd_filter_build(int *ret_fd, wd_error *err)
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
    if (ctx == NULL)
        return wd_fail(err, WD_UNAVAILABLE, "seccomp: no filter context");
    int rc = fill(ctx);
    WD_AUTO_FD int fd = memfd_create("filter", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (rc == 0 && fd >= 0)
        rc = seccomp_export_bpf(ctx, fd);
    seccomp_release(ctx);
    if (rc != 0)
        return wd_fail(err, WD_UNAVAILABLE, "seccomp: build the filter: %s",
                       strerror(-rc));
    if (fd < 0 || fcntl(fd, F_ADD_SEALS,
                        F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
        return wd_fail(err, WD_UNAVAILABLE, "descriptors: memfd for the filter: %s",
                       strerror(errno));
    *ret_fd = WD_STEAL_FD(fd);
    return WD_OK;
}
