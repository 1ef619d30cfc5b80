#include "store/gentle_sync.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether it could be written out does not matter: fsync tells. */
static void write_out(int fd, off_t size)
{
    const unsigned whole = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                           SYNC_FILE_RANGE_WAIT_AFTER;

    for (off_t at = 0; at < size; at += WD_GENTLE_BYTES)
        if (sync_file_range(fd, at, WD_GENTLE_BYTES, whole) != 0)
            return;
}

int wd_gentle_sync(int fd)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return -1;
    if (S_ISREG(st.st_mode))
        write_out(fd, st.st_size);
    return fsync(fd);
}
