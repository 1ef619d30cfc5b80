/* filter_lists.h - names for filter.c: what every slot may call, and what it may not.
 *
 * Names that the build's libseccomp or this architecture does not know are skipped: they
 * then answer ENOSYS. Not here, since arguments decide: clone, socket, ioctl, prctl,
 * personality, mknod, mknodat.
 *
 * Threads: any.  Owns: nothing.
 * Source:  docs/security.md; man-pages, syscalls(2). */
#ifndef WD_EXECUTOR_FILTER_LISTS_H
#define WD_EXECUTOR_FILTER_LISTS_H

/* clang-format off: a list of words, filled */
static const char *const wd_filter_allowed[] = {
    "accept", "accept4", "access", "alarm", "arch_prctl", "bind", "brk", "capget",
    "capset", "chdir", "chmod", "chown", "clock_getres", "clock_gettime",
    "clock_nanosleep", "close", "close_range", "connect", "copy_file_range",
    "creat", "dup", "dup2", "dup3", "epoll_create", "epoll_create1", "epoll_ctl",
    "epoll_pwait", "epoll_pwait2", "epoll_wait", "eventfd", "eventfd2", "execve",
    "execveat", "exit", "exit_group", "faccessat", "faccessat2", "fadvise64",
    "fallocate", "fchdir", "fchmod", "fchmodat", "fchmodat2", "fchown", "fchownat",
    "fcntl", "fdatasync", "fgetxattr", "flistxattr", "flock", "fork",
    "fremovexattr", "fsetxattr", "fstat", "fstatfs", "fsync", "ftruncate", "futex",
    "futex_requeue", "futex_wait", "futex_waitv", "futex_wake", "futimesat",
    "get_robust_list", "get_thread_area", "getcpu", "getcwd", "getdents",
    "getdents64", "getegid", "geteuid", "getgid", "getgroups", "getitimer",
    "getpeername", "getpgid", "getpgrp", "getpid", "getppid", "getpriority",
    "getrandom", "getresgid", "getresuid", "getrlimit", "getrusage", "getsid",
    "getsockname", "getsockopt", "gettid", "gettimeofday", "getuid", "getxattr",
    "getxattrat", "inotify_add_watch", "inotify_init", "inotify_init1",
    "inotify_rm_watch", "ioprio_get", "ioprio_set", "kill", "landlock_add_rule",
    "landlock_create_ruleset", "landlock_restrict_self", "lchown", "lgetxattr",
    "link", "linkat", "listen", "listxattr", "listxattrat", "llistxattr",
    "lremovexattr", "lseek", "lsetxattr", "lstat", "madvise", "membarrier",
    "memfd_create", "mincore", "mkdir", "mkdirat", "mlock", "mlock2", "mlockall",
    "mmap", "mprotect", "mremap", "mseal", "msync", "munlock", "munlockall",
    "munmap", "nanosleep", "newfstatat", "open", "openat", "openat2", "pause",
    "pidfd_open", "pidfd_send_signal", "pipe", "pipe2", "pkey_alloc", "pkey_free",
    "pkey_mprotect", "poll", "ppoll", "pread64", "preadv", "preadv2", "prlimit64",
    "pselect6", "pwrite64", "pwritev", "pwritev2", "read", "readahead", "readlink",
    "readlinkat", "readv", "recvfrom", "recvmmsg", "recvmsg", "removexattr",
    "removexattrat", "rename", "renameat", "renameat2", "restart_syscall",
    "riscv_hwprobe", "rmdir", "rseq", "rt_sigaction", "rt_sigpending",
    "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn", "rt_sigsuspend",
    "rt_sigtimedwait", "rt_tgsigqueueinfo", "sched_get_priority_max",
    "sched_get_priority_min", "sched_getaffinity", "sched_getattr",
    "sched_getparam", "sched_getscheduler", "sched_rr_get_interval",
    "sched_setaffinity", "sched_setparam", "sched_setscheduler", "sched_yield",
    "select", "sendfile", "sendmmsg", "sendmsg", "sendto", "set_robust_list",
    "set_thread_area", "set_tid_address", "setfsgid", "setfsuid", "setgid",
    "setgroups", "setitimer", "setpgid", "setpriority", "setregid", "setresgid",
    "setresuid", "setreuid", "setrlimit", "setsid", "setsockopt", "setuid",
    "setxattr", "setxattrat", "shutdown", "sigaltstack", "signalfd", "signalfd4",
    "socketpair", "splice", "stat", "statfs", "statx", "symlink", "symlinkat",
    "sync_file_range", "sysinfo", "tee", "tgkill", "time", "timer_create",
    "timer_delete", "timer_getoverrun", "timer_gettime", "timer_settime",
    "timerfd_create", "timerfd_gettime", "timerfd_settime", "times", "tkill",
    "truncate", "umask", "uname", "unlink", "unlinkat", "uretprobe", "utime",
    "utimensat", "utimes", "vfork", "wait4", "waitid", "write", "writev",
};

/* Known and refused with EPERM: other processes' memory, mounts and namespaces, keys,
 * kernel interfaces with a history (bpf, io_uring, userfaultfd, perf), clocks, SysV and
 * POSIX IPC that outlives a process, tools of the administrator. */
static const char *const wd_filter_denied[] = {
    "acct", "add_key", "adjtimex", "bpf", "cachestat", "chroot", "clock_adjtime",
    "clock_settime", "delete_module", "fanotify_init", "fanotify_mark",
    "finit_module", "fsconfig", "fsmount", "fsopen", "fspick", "init_module",
    "io_uring_enter", "io_uring_register", "io_uring_setup", "ioperm", "iopl",
    "kcmp", "kexec_load", "keyctl", "listmount", "lsm_get_self_attr",
    "lsm_list_modules", "lsm_set_self_attr", "map_shadow_stack", "mbind",
    "memfd_secret", "migrate_pages", "modify_ldt", "mount", "mount_setattr",
    "move_mount", "move_pages", "mq_getsetattr", "mq_notify", "mq_open",
    "mq_timedreceive", "mq_timedsend", "mq_unlink", "msgctl", "msgget", "msgrcv",
    "msgsnd", "name_to_handle_at", "open_by_handle_at", "open_tree",
    "open_tree_attr", "perf_event_open", "pidfd_getfd", "pivot_root",
    "process_madvise", "process_mrelease", "process_vm_readv", "process_vm_writev",
    "ptrace", "quotactl", "reboot", "remap_file_pages", "request_key",
    "sched_setattr", "seccomp", "semctl", "semget", "semop", "semtimedop",
    "set_mempolicy", "set_mempolicy_home_node", "setdomainname", "sethostname",
    "setns", "settimeofday", "shmat", "shmctl", "shmdt", "shmget", "statmount",
    "swapoff", "swapon", "sync", "syncfs", "syslog", "umount", "umount2", "unshare",
    "userfaultfd", "vhangup", "vmsplice",
};
/* clang-format on */

#endif
