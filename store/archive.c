#include "store/archive.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define LOWEST     19 /* nice: sealing never comes before a call */
#define REST_AFTER 60 /* passes to wait after one that failed */

struct wd_archive {
    wd_archive_options options;
    wd_archivist *archivist; /* the thread's */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t news;
    atomic_bool stop;
};

/* false: it is the end. */
static bool rest(wd_archive *archive, int64_t ms)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    ms += until.tv_nsec / 1000000;
    until.tv_sec += ms / 1000;
    until.tv_nsec = ms % 1000 * 1000000;
    (void)pthread_mutex_lock(&archive->lock);
    int waited = 0;
    while (!atomic_load(&archive->stop) && waited == 0)
        waited = pthread_cond_clockwait(&archive->news, &archive->lock, CLOCK_MONOTONIC,
                                        &until);
    (void)pthread_mutex_unlock(&archive->lock);
    return !atomic_load(&archive->stop);
}

/* Sealing waits for no export: pruning that fails rests by itself. */
static void prune(wd_archive *archive, int64_t *ret_skip)
{
    wd_error err = {0};
    if (archive->options.pruner == NULL || --*ret_skip > 0)
        return;
    wd_status status = wd_pruner_pass(archive->options.pruner, &err);
    *ret_skip = status == WD_OK ? 1 : REST_AFTER;
    if (status != WD_CANCELLED && archive->options.prune_passed != NULL)
        archive->options.prune_passed(archive->options.prune_arg,
                                      status != WD_OK ? &err : NULL);
}

static void *work(void *arg)
{
    wd_archive *archive = arg;
    int64_t pass_ms = archive->options.pass_ms;
    int64_t ms = pass_ms;
    int64_t skip = 1;
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), LOWEST);
    while (rest(archive, ms)) {
        wd_error err = {0};
        wd_status status = wd_archivist_pass(archive->archivist, &err);
        ms = status == WD_OK ? pass_ms : pass_ms * REST_AFTER;
        if (status != WD_CANCELLED && archive->options.passed != NULL)
            archive->options.passed(archive->options.arg,
                                    status != WD_OK ? &err : NULL);
        prune(archive, &skip);
    }
    return NULL;
}

/* The thread takes no signals: they are main's. */
static int start_thread(wd_archive *archive)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&archive->thread, NULL, work, archive);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed == 0)
        (void)pthread_setname_np(archive->thread, "wd-archive");
    return failed;
}

static void archive_free(wd_archive *archive)
{
    wd_archivist_close(archive->archivist);
    (void)pthread_cond_destroy(&archive->news);
    (void)pthread_mutex_destroy(&archive->lock);
    free(archive);
}

wd_status wd_archive_start(const wd_archive_options *options, wd_archive **ret_archive,
                           wd_error *err)
{
    wd_archive *archive = calloc(1, sizeof(*archive));
    if (archive == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for the archive");
    archive->options = *options;
    archive->options.stop = &archive->stop;
    if (options->pass_ms == 0)
        archive->options.pass_ms = WD_ARCHIVE_PASS_MS;
    (void)pthread_mutex_init(&archive->lock, NULL);
    (void)pthread_cond_init(&archive->news, NULL);
    wd_status status = wd_archivist_open(&archive->options, &archive->archivist, err);
    if (status == WD_OK) {
        int failed = start_thread(archive);
        if (failed != 0)
            status = wd_refuse(err, WD_REASON_CAPACITY, "no thread for the archive: %s",
                               strerrordesc_np(failed));
    }
    if (status != WD_OK) {
        archive_free(archive);
        return status;
    }
    *ret_archive = archive;
    return WD_OK;
}

void wd_archive_stop(wd_archive *archive)
{
    if (archive == NULL)
        return;
    (void)pthread_mutex_lock(&archive->lock);
    atomic_store(&archive->stop, true);
    (void)pthread_cond_signal(&archive->news);
    (void)pthread_mutex_unlock(&archive->lock);
    (void)pthread_join(archive->thread, NULL);
    archive_free(archive);
}
