/* gentle_sync.h - fsync(2) of a large file, beside others who wait for the same disk.
 *
 * A journal commits what all files wrote since the last time, and each fsync waits for
 * that: 32 MiB of a segment make a row wait for tens of milliseconds. So what is not
 * written yet is written out first, a piece at a time.
 *
 * Threads: any.  Owns: nothing.
 * Source:  sync_file_range(2), fsync(2); figures: docs/decisions/, number 14. */
#ifndef WD_STORE_GENTLE_SYNC_H
#define WD_STORE_GENTLE_SYNC_H

#define WD_GENTLE_BYTES (256 << 10) /* of a piece: what another fsync may wait for */

/* As fsync(2): 0, or -1 and errno; a piece that could not be written is such a failure. */
int wd_gentle_sync(int fd);

#endif
