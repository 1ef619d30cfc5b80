#include "store/gentle_sync.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* 0, or -1 and errno. Of a piece that was lost the system tells a descriptor once: the
 * fsync that follows would know nothing of it. A call that there is not is no loss. */
static int write_out(int fd, off_t size)
{
    const unsigned whole = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                           SYNC_FILE_RANGE_WAIT_AFTER;

    for (off_t at = 0; at < size; at += WD_GENTLE_BYTES)
        if (sync_file_range(fd, at, WD_GENTLE_BYTES, whole) != 0)
            return errno == ENOSYS || errno == EPERM ? 0 : -1;
    return 0;
}

int wd_gentle_sync(int fd)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return -1;
    if (S_ISREG(st.st_mode) && write_out(fd, st.st_size) != 0)
        return -1;
    return fsync(fd);
}
