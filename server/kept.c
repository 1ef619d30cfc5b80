#include "server/kept.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct wd_answer {
    atomic_uint refs;
    wd_error *error; /* NULL: the call ended well */
    wd_buffer payload;
    int64_t made_ms;

    /* The keeper's, while it is kept. */
    TAILQ_ENTRY(wd_answer) all, own;
    wd_kept_share *share;
    wd_kept *holder; /* counted */
};

struct wd_kept {
    atomic_uint refs;
    /* Under the keeper's lock. */
    bool settled;
    wd_answer *answer;     /* counted; NULL: none yet, or none any more */
    wd_task *first, *last; /* who waits */
};

struct wd_keeper {
    pthread_mutex_t lock;
    wd_answers answers; /* of all, oldest first */
    TAILQ_HEAD(, wd_kept_share) shares;
    uint64_t bytes, limit;
};

/* --- answers ------------------------------------------------------------------------------ */

static const wd_error no_error = {.status = WD_OK};

wd_answer *wd_answer_new(const wd_error *error, wd_buffer *payload, int64_t mono_ms)
{
    wd_answer *answer = calloc(1, sizeof(*answer));
    wd_error *copy = NULL;

    if (error->status != WD_OK) {
        copy = malloc(sizeof(*copy));
        if (copy != NULL)
            *copy = *error;
    }
    if (answer == NULL || (error->status != WD_OK && copy == NULL)) {
        free(answer);
        free(copy);
        return NULL;
    }
    atomic_init(&answer->refs, 1);
    answer->error = copy;
    answer->made_ms = mono_ms;
    answer->payload = *payload;
    *payload = (wd_buffer)WD_BUFFER_INIT;
    return answer;
}

wd_answer *wd_answer_ref(wd_answer *answer)
{
    (void)atomic_fetch_add(&answer->refs, 1);
    return answer;
}

void wd_answer_unref(wd_answer *answer)
{
    if (answer == NULL || atomic_fetch_sub(&answer->refs, 1) != 1)
        return;
    wd_buffer_wipe(&answer->payload); /* a new token may be in it */
    free(answer->error);
    free(answer);
}

const wd_error *wd_answer_error(const wd_answer *answer)
{
    return answer->error != NULL ? answer->error : &no_error;
}

wd_span wd_answer_payload(const wd_answer *answer)
{
    return wd_buffer_span(&answer->payload);
}

static uint64_t bytes_of(const wd_answer *answer)
{
    uint64_t error = answer->error != NULL ? sizeof(*answer->error) : 0;
    return sizeof(*answer) + sizeof(wd_kept) + error + answer->payload.size;
}

/* --- what is kept, under the lock --------------------------------------------------------- */

static void keep(wd_keeper *keeper, wd_kept *kept, wd_answer *answer,
                 wd_kept_share *share)
{
    kept->answer = answer;
    answer->holder = wd_kept_ref(kept);
    answer->share = share;
    if (TAILQ_EMPTY(&share->answers))
        TAILQ_INSERT_TAIL(&keeper->shares, share, all);
    TAILQ_INSERT_TAIL(&keeper->answers, answer, all);
    TAILQ_INSERT_TAIL(&share->answers, answer, own);
    keeper->bytes += bytes_of(answer);
    share->bytes += bytes_of(answer);
}

/* Out of the lists, into `gone`, whose counts are given back without the lock. */
static void let_go(wd_keeper *keeper, wd_answer *answer, wd_answers *gone)
{
    TAILQ_REMOVE(&keeper->answers, answer, all);
    TAILQ_REMOVE(&answer->share->answers, answer, own);
    if (TAILQ_EMPTY(&answer->share->answers))
        TAILQ_REMOVE(&keeper->shares, answer->share, all);
    keeper->bytes -= bytes_of(answer);
    answer->share->bytes -= bytes_of(answer);
    answer->holder->answer = NULL;
    TAILQ_INSERT_TAIL(gone, answer, own);
}

/* Who has most; of several, who has had answers for longest. There is one. */
static wd_kept_share *largest(const wd_keeper *keeper)
{
    wd_kept_share *most = TAILQ_FIRST(&keeper->shares);

    for (wd_kept_share *at = most; at != NULL; at = TAILQ_NEXT(at, all))
        if (at->bytes > most->bytes)
            most = at;
    WD_ASSERT(most != NULL);
    return most;
}

static void make_room(wd_keeper *keeper, wd_kept_share *share, wd_answers *gone)
{
    while (share->bytes > keeper->limit / WD_KEPT_SHARES)
        let_go(keeper, TAILQ_FIRST(&share->answers), gone);
    while (keeper->bytes > keeper->limit)
        let_go(keeper, TAILQ_FIRST(&largest(keeper)->answers), gone);
}

static void unref_all(wd_answers *gone)
{
    for (wd_answer *at = TAILQ_FIRST(gone); at != NULL; at = TAILQ_FIRST(gone)) {
        TAILQ_REMOVE(gone, at, own);
        wd_kept_unref(at->holder);
        wd_answer_unref(at);
    }
}

/* --- the keeper --------------------------------------------------------------------------- */

wd_keeper *wd_keeper_new(uint64_t bytes)
{
    wd_keeper *keeper = calloc(1, sizeof(*keeper));

    if (keeper == NULL)
        return NULL;
    (void)pthread_mutex_init(&keeper->lock, NULL);
    TAILQ_INIT(&keeper->answers);
    TAILQ_INIT(&keeper->shares);
    keeper->limit = bytes;
    return keeper;
}

void wd_keeper_free(wd_keeper *keeper)
{
    if (keeper == NULL)
        return;
    wd_keeper_expire(keeper, INT64_MAX);
    (void)pthread_mutex_destroy(&keeper->lock);
    free(keeper);
}

void wd_keeper_expire(wd_keeper *keeper, int64_t mono_ms)
{
    wd_answers gone = TAILQ_HEAD_INITIALIZER(gone);

    (void)pthread_mutex_lock(&keeper->lock);
    for (wd_answer *at = TAILQ_FIRST(&keeper->answers);
         at != NULL && at->made_ms < mono_ms; at = TAILQ_FIRST(&keeper->answers))
        let_go(keeper, at, &gone);
    (void)pthread_mutex_unlock(&keeper->lock);
    unref_all(&gone);
}

uint64_t wd_keeper_bytes(wd_keeper *keeper)
{
    (void)pthread_mutex_lock(&keeper->lock);
    uint64_t bytes = keeper->bytes;
    (void)pthread_mutex_unlock(&keeper->lock);
    return bytes;
}

void wd_kept_share_init(wd_kept_share *share)
{
    TAILQ_INIT(&share->answers);
    share->bytes = 0;
}

/* --- one call's --------------------------------------------------------------------------- */

wd_kept *wd_kept_new(void)
{
    wd_kept *kept = calloc(1, sizeof(*kept));

    if (kept != NULL)
        atomic_init(&kept->refs, 1);
    return kept;
}

wd_kept *wd_kept_ref(wd_kept *kept)
{
    (void)atomic_fetch_add(&kept->refs, 1);
    return kept;
}

void wd_kept_unref(wd_kept *kept)
{
    if (kept == NULL || atomic_fetch_sub(&kept->refs, 1) != 1)
        return;
    WD_ASSERT(kept->answer == NULL && kept->first == NULL);
    free(kept);
}

bool wd_kept_await(wd_keeper *keeper, wd_kept *kept, wd_task *task)
{
    (void)pthread_mutex_lock(&keeper->lock);
    bool awaited = !kept->settled;
    if (awaited) {
        task->next = NULL;
        if (kept->first == NULL)
            kept->first = task;
        else
            kept->last->next = task;
        kept->last = task;
    }
    (void)pthread_mutex_unlock(&keeper->lock);
    return awaited;
}

wd_task *wd_kept_settle(wd_keeper *keeper, wd_kept *kept, wd_answer *answer,
                        wd_kept_share *share)
{
    wd_answers gone = TAILQ_HEAD_INITIALIZER(gone);

    (void)pthread_mutex_lock(&keeper->lock);
    WD_ASSERT(!kept->settled);
    kept->settled = true;
    wd_task *waiting = kept->first;
    kept->first = kept->last = NULL;
    if (answer != NULL) {
        keep(keeper, kept, answer, share);
        make_room(keeper, share, &gone);
    }
    (void)pthread_mutex_unlock(&keeper->lock);
    unref_all(&gone);
    return waiting;
}

wd_answer *wd_kept_answer(wd_keeper *keeper, const wd_kept *kept)
{
    (void)pthread_mutex_lock(&keeper->lock);
    wd_answer *answer = kept->answer != NULL ? wd_answer_ref(kept->answer) : NULL;
    (void)pthread_mutex_unlock(&keeper->lock);
    return answer;
}

bool wd_kept_gone(wd_keeper *keeper, const wd_kept *kept)
{
    (void)pthread_mutex_lock(&keeper->lock);
    bool gone = kept->settled && kept->answer == NULL;
    (void)pthread_mutex_unlock(&keeper->lock);
    return gone;
}
