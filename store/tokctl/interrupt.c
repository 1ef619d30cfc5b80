#include "store/tokctl/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct wd_interrupt {
    pthread_mutex_t lock;
    const char *path; /* guarded; NULL: none */
    sigset_t signals;
};

static void *wait_for_it(void *arg)
{
    wd_interrupt *interrupt = arg;
    int signal = 0;
    while (sigwait(&interrupt->signals, &signal) != 0) {
    }
    pthread_mutex_lock(&interrupt->lock); /* for good */
    if (interrupt->path != NULL)
        (void)unlink(interrupt->path);
    (void)fprintf(stderr, "tokctl: interrupted\n");
    _exit(WD_EXIT_INTERRUPTED);
}

static bool is_ignored(void)
{
    struct sigaction now;
    return sigaction(SIGINT, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

wd_interrupt *wd_interrupt_start(void)
{
    pthread_t thread;
    wd_interrupt *interrupt = is_ignored() ? NULL : calloc(1, sizeof(*interrupt));
    if (interrupt == NULL)
        return NULL;
    pthread_mutex_init(&interrupt->lock, NULL);
    sigemptyset(&interrupt->signals);
    sigaddset(&interrupt->signals, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &interrupt->signals, NULL);
    if (pthread_create(&thread, NULL, wait_for_it, interrupt) == 0) {
        (void)pthread_detach(thread);
        return interrupt;
    }
    (void)pthread_sigmask(SIG_UNBLOCK, &interrupt->signals, NULL);
    free(interrupt);
    return NULL;
}

void wd_interrupt_guard(wd_interrupt *interrupt, const char *path)
{
    if (interrupt == NULL)
        return;
    pthread_mutex_lock(&interrupt->lock);
    interrupt->path = path;
    pthread_mutex_unlock(&interrupt->lock);
}
