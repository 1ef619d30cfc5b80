#include "server/core_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

#define PATTERN_PATH "/proc/sys/kernel/core_pattern"

/* '|': a program; '@': a socket that a program serves (Linux 6.16). */
static bool read_pattern(bool *ret_program)
{
    char first = '\0';
    int fd = open(PATTERN_PATH, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t size = read(fd, &first, 1);
    int error = errno;
    (void)close(fd);
    errno = error;
    *ret_program = size > 0 && (first == '|' || first == '@');
    return size >= 0;
}

static bool set_both(rlim_t value)
{
    const struct rlimit limit = {.rlim_cur = value, .rlim_max = value};
    return setrlimit(RLIMIT_CORE, &limit) == 0;
}

const char *wd_core_limit_set(void)
{
    struct rlimit now;
    if (getrlimit(RLIMIT_CORE, &now) != 0)
        return "getrlimit core";
    if (set_both(1))
        return NULL;
    if (now.rlim_max != 0)
        return "setrlimit core";
    bool program = true;
    if (!read_pattern(&program))
        return "the hard limit of core is 0 and " PATTERN_PATH " can't be read";
    errno = 0;
    if (program)
        return "the hard limit of core is 0 and kernel.core_pattern runs a program";
    return set_both(0) ? NULL : "setrlimit core";
}
