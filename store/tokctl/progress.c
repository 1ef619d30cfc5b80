#include "store/tokctl/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/c/clock.h"

#define FIRST_MS  500 /* what takes less needs none */
#define PERIOD_MS 100

/* A line that is drawn again and again needs a terminal that can. */
static bool can_draw(void)
{
    const char *term = getenv("TERM"); /* NOLINT(concurrency-mt-unsafe): read only */
    return isatty(STDERR_FILENO) != 0 && term != NULL && term[0] != '\0' &&
           strcmp(term, "dumb") != 0;
}

wd_progress wd_progress_begin(const wd_tokctl *ctl, const char *what)
{
    return (wd_progress){.what = what,
                         .shown = !ctl->quiet && can_draw(),
                         .next_ms = wd_clock_mono_ms(wd_clock_system()) + FIRST_MS};
}

void wd_progress_show(wd_progress *progress, uint64_t n, uint64_t of)
{
    int64_t now = wd_clock_mono_ms(wd_clock_system());
    if (!progress->shown || now < progress->next_ms)
        return;
    progress->next_ms = now + PERIOD_MS;
    progress->drawn = true;
    (void)fprintf(stderr, "\r%llu", (unsigned long long)n);
    if (of != 0)
        (void)fprintf(stderr, " of %llu", (unsigned long long)of);
    (void)fprintf(stderr, " %s\033[K", progress->what);
}

void wd_progress_end(wd_progress *progress)
{
    if (progress->drawn)
        (void)fprintf(stderr, "\r\033[K");
    progress->drawn = false;
}
