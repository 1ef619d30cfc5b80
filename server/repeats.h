/* repeats.h - a complaint that would come again and again, told now and then.
 *
 * What fails each second, or at each action, is told when it begins, then once a minute
 * with how often it has come, and when it is over. What begins anew within the minute is
 * told at the end of that: whatever comes and goes, two lines a minute at most.
 *
 * Threads: its owner's.  Owns: nothing; all zero is a good start. */
#ifndef WD_SERVER_REPEATS_H
#define WD_SERVER_REPEATS_H

#include <stdbool.h>
#include <stdint.h>

#define WD_REPEATS_MS 60000 /* between two lines */

typedef struct wd_repeats {
    int64_t next_ms; /* not told before; 0: never told */
    uint64_t times;  /* since it began, or since what of it was told; 0: it is not so */
    bool told;       /* that it began */
} wd_repeats;

/* It has come once more; whether to tell, with `times`. `now_ms` is monotonic. */
bool wd_repeats_again(wd_repeats *repeats, int64_t now_ms);

/* It works. How often it had come: to be told; 0: it had not, or nobody was told. */
uint64_t wd_repeats_over(wd_repeats *repeats);

/* The same as a line at level error with `of`, which may be NULL, `why` and `times`; and
 * at level info. */
void wd_repeats_log(wd_repeats *repeats, const char *event, const char *of,
                    const char *why);
void wd_repeats_log_over(wd_repeats *repeats, const char *event);

#endif
