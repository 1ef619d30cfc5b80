/* stub_executor.h - an executor that runs nothing: what it answers, the code says.
 *
 *     hold     is started, and ends when it is told to, cancelled, or out of time
 *     queue    is never started; NOT_STARTED at its deadline
 *     fail     the sandbox could not be made
 *     touch P  makes the file P and ends at once
 *     note P   puts the code's other lines at the end of the file P and ends at once
 *     big N    ends at once; its output is N letters
 *     else     ends at once; its output is the code
 *
 * Threads: one.  Owns: its end of the job socket. */
#ifndef WD_TESTS_STUB_EXECUTOR_H
#define WD_TESTS_STUB_EXECUTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct wd_stub wd_stub;

/* Takes the socket and says Ready. */
wd_stub *wd_stub_new(int fd);
void wd_stub_free(wd_stub *stub); /* closes it: the executor dies */

int wd_stub_fd(const wd_stub *stub);

/* Read what is there. false: the gate has closed the socket. */
bool wd_stub_read(wd_stub *stub);

/* End what is out of time at `now_ms` (monotonic); when the next one will be, or -1. */
int64_t wd_stub_tick(wd_stub *stub, int64_t now_ms);

/* End all that is held, well. */
void wd_stub_finish(wd_stub *stub);

typedef struct wd_stub_counts {
    size_t jobs;      /* ever received */
    size_t running;   /* held now */
    size_t cancelled; /* ever */
} wd_stub_counts;
wd_stub_counts wd_stub_count(const wd_stub *stub);

#endif
