#include "proto/c/process.h"

#include "proto/c/cleanup.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIELD_STATE 3 /* the first one behind the name, which may hold anything */
#define FIELD_START 22

uint64_t wd_process_start(pid_t pid, char *ret_state)
{
    char text[1024];
    (void)snprintf(text, sizeof(text), "/proc/%d/stat", (int)pid);
    WD_AUTO_FD int fd = open(text, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (size <= 0)
        return 0;
    text[size] = '\0';
    char *at = strrchr(text, ')');
    if (at == NULL || at[1] == '\0')
        return 0;
    if (ret_state != NULL)
        *ret_state = at[2];
    for (int field = FIELD_STATE - 1; at != NULL && field < FIELD_START; field++)
        at = strchr(at + 1, ' ');
    return at != NULL ? strtoull(at, NULL, 10) : 0;
}
