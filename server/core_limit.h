/* core_limit.h - no dump of this process's memory, or of any that it starts, by anybody.
 *
 * A core limit of 1 byte is the one that stops both ways of dumping: no file is written,
 * and a program or socket that kernel.core_pattern names is not given the memory. With 0
 * the kernel writes no file but starts that program all the same. sudo and many container
 * runtimes lower the hard limit to 0, and to raise it again takes CAP_SYS_RESOURCE: then 0
 * has to do, and does where the pattern names only a file.
 *
 * Threads: any.  Owns: nothing.
 * Source:  core(5). Used by warded-slot too: no dependency but libc. */
#ifndef WD_SERVER_CORE_LIMIT_H
#define WD_SERVER_CORE_LIMIT_H

#define WD_CORE_CURE                                                                   \
    "give it a hard limit of core of 1 byte or more (ulimit -Hc; systemd "             \
    "LimitCORE=1; "                                                                    \
    "Docker --ulimit core=1; sudo: Defaults rlimit_core=default), or let "             \
    "kernel.core_pattern name a file, not a program"

/* Set the core limit, soft and hard, to 1, or to 0 where that is as good. Returns NULL, or
 * what is in the way, a static text, with errno; 0: no system call failed. */
const char *wd_core_limit_set(void);

#endif
