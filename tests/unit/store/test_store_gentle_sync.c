/* What a large file's fsync is preceded by, watched at the system's calls. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/gentle_sync.h"

static struct {
    int pieces, syncs;
    off_t reached; /* what was written out, from the beginning on */
    int fail;      /* errno of the first piece; 0: it is written */
} seen;

/* The names are the linker's (--wrap).
 * NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming) */
int __wrap_sync_file_range(int fd, off_t at, off_t bytes, unsigned flags);
int __wrap_fsync(int fd);
int __real_fsync(int fd);

int __wrap_sync_file_range(int fd, off_t at, off_t bytes, unsigned flags)
{
    const unsigned whole = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                           SYNC_FILE_RANGE_WAIT_AFTER;

    assert_true(fd >= 0);
    assert_int_equal(seen.syncs, 0);
    assert_int_equal(at, seen.reached);
    assert_in_range(bytes, 1, WD_GENTLE_BYTES);
    assert_int_equal(flags, whole);
    seen.pieces++;
    errno = seen.fail;
    if (seen.fail != 0)
        return -1;
    seen.reached += bytes;
    return 0;
}

int __wrap_fsync(int fd)
{
    seen.syncs++;
    return __real_fsync(fd);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming) */

static int sync_file_of(off_t size, int fail)
{
    char path[] = "/tmp/wd-gentle-XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(ftruncate(fd, size), 0);
    seen.pieces = seen.syncs = 0;
    seen.reached = 0;
    seen.fail = fail;
    int answer = wd_gentle_sync(fd);
    assert_int_equal(close(fd), 0);
    return answer;
}

static void claim_11_all_of_it_is_written_out_in_pieces_first(void **state)
{
    static const struct {
        off_t size;
        int pieces;
    } cases[] = {{0, 0},
                 {1, 1},
                 {WD_GENTLE_BYTES - 1, 1},
                 {WD_GENTLE_BYTES, 1},
                 {WD_GENTLE_BYTES + 1, 2},
                 {10 * WD_GENTLE_BYTES, 10}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(sync_file_of(cases[i].size, 0), 0);
        assert_int_equal(seen.pieces, cases[i].pieces);
        assert_true(seen.reached >= cases[i].size);
        assert_int_equal(seen.syncs, 1);
    }
}

static void where_pieces_cannot_be_written_it_is_synced_at_once(void **state)
{
    (void)state;
    assert_int_equal(sync_file_of(10 * WD_GENTLE_BYTES, ENOSYS), 0);
    assert_int_equal(seen.pieces, 1);
    assert_int_equal(seen.syncs, 1);
}

static void a_piece_that_is_lost_is_told_for_fsync_would_not_know(void **state)
{
    static const int lost[] = {EIO, ENOSPC, EDQUOT};

    (void)state;
    for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++) {
        assert_int_equal(sync_file_of(10 * WD_GENTLE_BYTES, lost[i]), -1);
        assert_int_equal(errno, lost[i]);
        assert_int_equal(seen.pieces, 1);
        assert_int_equal(seen.syncs, 0);
    }
}

static void a_folder_is_synced_and_what_is_not_open_is_told(void **state)
{
    int fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)state;
    assert_true(fd >= 0);
    seen.pieces = seen.syncs = 0;
    assert_int_equal(wd_gentle_sync(fd), 0);
    assert_int_equal(seen.pieces, 0);
    assert_int_equal(seen.syncs, 1);
    assert_int_equal(close(fd), 0);
    errno = 0;
    assert_int_equal(wd_gentle_sync(-1), -1);
    assert_int_equal(errno, EBADF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_11_all_of_it_is_written_out_in_pieces_first),
        cmocka_unit_test(where_pieces_cannot_be_written_it_is_synced_at_once),
        cmocka_unit_test(a_piece_that_is_lost_is_told_for_fsync_would_not_know),
        cmocka_unit_test(a_folder_is_synced_and_what_is_not_open_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
