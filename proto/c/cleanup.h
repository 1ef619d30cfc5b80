/* cleanup.h - scope-bound ownership.
 *
 *     WD_AUTO(wd_store) *store = NULL;          freed when `store` leaves scope
 *     *ret_store = WD_STEAL(store);             hand it to the caller instead
 *     WD_AUTO_FD int fd = open(...);            closed when `fd` leaves scope
 *
 * Threads: any.  Source: gcc manual, "cleanup" attribute. */
#ifndef WD_CLEANUP_H
#define WD_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Teach WD_AUTO(type) to call free_fn. Every *_free accepts NULL. */
#define WD_DEFINE_AUTO(type, free_fn)                                                  \
    static inline void wd_auto_##type(type **p)                                        \
    {                                                                                  \
        free_fn(*p);                                                                   \
    }

#define WD_AUTO(type) __attribute__((cleanup(wd_auto_##type))) type

typedef char wd_text; /* WD_AUTO(wd_text) *s: from malloc, strdup, asprintf */
WD_DEFINE_AUTO(wd_text, free)

static inline void wd_auto_fd(const int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}
#define WD_AUTO_FD __attribute__((cleanup(wd_auto_fd)))

static inline void wd_auto_file(FILE **file)
{
    if (*file != NULL)
        (void)fclose(*file);
}
#define WD_AUTO_FILE __attribute__((cleanup(wd_auto_file)))

#define WD_STEAL(p)                                                                    \
    __extension__({                                                                    \
        __typeof__(p) wd_stolen_ = (p);                                                \
        (p) = NULL;                                                                    \
        wd_stolen_;                                                                    \
    })

#define WD_STEAL_FD(fd)                                                                \
    __extension__({                                                                    \
        int wd_stolen_ = (fd);                                                         \
        (fd) = -1;                                                                     \
        wd_stolen_;                                                                    \
    })

#endif
