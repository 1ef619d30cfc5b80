#include "store/checkpointer.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store/internal.h"

#define LOOK_MS 50 /* between two looks at the head: 1,000 rows take no less */

struct wd_checkpointer {
    wd_checkpointer_options options;
    bool has_thread;
    pthread_t thread;
    pthread_mutex_t lock; /* of stopping */
    pthread_cond_t news;
    bool stopping;
    pthread_mutex_t turn; /* one signs at a time; of what follows */
    uint64_t last_seq;    /* signed */
    int64_t last_ms;      /* monotonic */
};

/* --- one checkpoint --------------------------------------------------------------- */

typedef struct write_job {
    wd_store_job job; /* first */
    const wd_signer *signer;
    uint64_t seq;
    const char *text;
} write_job;

static wd_status run(wd_store *store, const char *sql, const char *name,
                     const write_job *w, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    wd_error cause;
    wd_status status = wd_sql_prepare(store->db, sql, &stmt, &cause);
    if (status == WD_OK) {
        if (name != NULL)
            wd_sql_bind_text(stmt, 1, name);
        else
            (void)sqlite3_bind_int64(stmt, 1, (int64_t)w->seq);
        wd_sql_bind_text(stmt, 2, name != NULL ? w->signer->certificate : w->text);
        status = wd_sql_run(stmt, &cause);
    }
    return status == WD_OK ? WD_OK
                           : wd_refuse(err, WD_REASON_AUDIT_UNWRITABLE,
                                       "a checkpoint: %s", cause.msg);
}

static wd_status apply(wd_store *store, wd_store_job *job, wd_error *err)
{
    const write_job *w = (const write_job *)job;
    char name[32];
    (void)snprintf(name, sizeof(name), WD_META_SIGNER "%s", w->signer->key_id);
    WD_TRY(run(store, "INSERT OR IGNORE INTO meta VALUES (?1, ?2)", name, w, err));
    return run(store, "INSERT OR REPLACE INTO checkpoints VALUES (?1, ?2)", NULL, w,
               err);
}

/* For whoever keeps it elsewhere. The table has it as well, so failures are let go. */
static void write_file(const wd_store *store, const char *text)
{
    WD_AUTO(wd_text) *path = NULL;
    WD_AUTO(wd_text) *fresh = NULL;
    WD_AUTO_FD int fd = -1;
    struct stat st;
    size_t size = strlen(text);
    if (asprintf(&path, "%s/checkpoint", store->place.dir) < 0 ||
        asprintf(&fresh, "%s/.checkpoint.new", store->place.dir) < 0)
        return;
    (void)unlink(fresh);
    fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, size) != (ssize_t)size || fdatasync(fd) != 0)
        return; /* a power cut must not leave an empty one, which no start takes */
    if (geteuid() == 0 && stat(store->place.dir, &st) == 0 &&
        fchown(fd, st.st_uid, st.st_gid) != 0)
        return;
    (void)rename(fresh, path);
}

static wd_status sign(wd_checkpointer *c, const wd_head *head, wd_error *err)
{
    wd_store *store = c->options.store;
    char text[WD_CHECKPOINT_BYTES];
    wd_checkpoint what = {.head = *head, .signed_ms = wd_clock_wall_ms(store->clock)};
    memcpy(what.chain_id, store->chain_id, sizeof(store->chain_id));
    WD_TRY(wd_checkpoint_make(&c->options.signer, &what, text, err));
    write_job w = {.job = {.apply = apply, .rank = WD_JOB_IF_ROOM},
                   .signer = &c->options.signer,
                   .seq = head->seq,
                   .text = text};
    WD_TRY(wd_store_change(store, c->options.writer, &w.job, err));
    write_file(store, text);
    return WD_OK;
}

/* `rows` new ones at least, or a second gone with any. *ret_tried: was it time to? */
static wd_status sign_if(wd_checkpointer *c, uint64_t rows, bool *ret_tried,
                         wd_error *err)
{
    wd_status status = WD_OK;
    (void)pthread_mutex_lock(&c->turn);
    wd_head head = wd_audit_head(c->options.store);
    int64_t now = wd_clock_mono_ms(wd_clock_system());
    uint64_t fresh = head.seq - c->last_seq;
    *ret_tried = fresh > 0 && (fresh >= rows || now - c->last_ms >= WD_CHECKPOINT_MS);
    if (*ret_tried) {
        status = sign(c, &head, err);
        c->last_ms = now;
        if (status == WD_OK)
            c->last_seq = head.seq;
    }
    (void)pthread_mutex_unlock(&c->turn);
    return status;
}

wd_status wd_checkpointer_now(wd_checkpointer *checkpointer, wd_error *err)
{
    bool tried = false;
    return sign_if(checkpointer, 1, &tried, err);
}

/* --- the thread ------------------------------------------------------------------- */

static bool rest(wd_checkpointer *c, int ms)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    long ns = until.tv_nsec + ms * 1000000L;
    until.tv_sec += ns / 1000000000L;
    until.tv_nsec = ns % 1000000000L;
    (void)pthread_mutex_lock(&c->lock);
    int waited = 0;
    while (!c->stopping && waited == 0)
        waited = pthread_cond_clockwait(&c->news, &c->lock, CLOCK_MONOTONIC, &until);
    bool go_on = !c->stopping;
    (void)pthread_mutex_unlock(&c->lock);
    return go_on;
}

static void *work(void *arg)
{
    wd_checkpointer *c = arg;
    int ms = LOOK_MS;
    while (rest(c, ms)) {
        wd_error err = {0};
        bool tried = false;
        wd_status status = sign_if(c, WD_CHECKPOINT_ROWS, &tried, &err);
        ms = status == WD_OK ? LOOK_MS : WD_CHECKPOINT_MS;
        if (tried && c->options.passed != NULL)
            c->options.passed(c->options.arg, status != WD_OK ? &err : NULL);
    }
    return NULL;
}

/* The thread takes no signals: they are main's. */
static wd_status start_thread(wd_checkpointer *c, wd_error *err)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&c->thread, NULL, work, c);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed != 0)
        return wd_refuse(err, WD_REASON_CAPACITY, "no thread for checkpoints: %s",
                         strerrordesc_np(failed));
    (void)pthread_setname_np(c->thread, "wd-checkpoint");
    c->has_thread = true;
    return WD_OK;
}

/* What has been signed in an earlier life. */
static wd_status last_signed(wd_checkpointer *c, wd_error *err)
{
    WD_AUTO(wd_reader) *reader = NULL;
    int64_t seq = 0;
    WD_TRY(wd_reader_open(c->options.store->place.dir, c->options.store->vfs, &reader,
                          err));
    WD_TRY(wd_sql_number(reader->db, "SELECT max(seq) FROM checkpoints", &seq, err));
    c->last_seq = seq < 0 ? 0 : (uint64_t)seq;
    if (c->last_seq > wd_audit_head(c->options.store).seq)
        c->last_seq = 0;
    return WD_OK;
}

wd_status wd_checkpointer_start(const wd_checkpointer_options *options,
                                wd_checkpointer **ret_checkpointer, wd_error *err)
{
    WD_AUTO(wd_checkpointer) *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for checkpoints");
    made->options = *options;
    (void)pthread_mutex_init(&made->lock, NULL);
    (void)pthread_mutex_init(&made->turn, NULL);
    (void)pthread_cond_init(&made->news, NULL);
    WD_TRY(last_signed(made, err));
    if (options->writer != NULL)
        WD_TRY(start_thread(made, err));
    *ret_checkpointer = WD_STEAL(made);
    return WD_OK;
}

void wd_checkpointer_stop(wd_checkpointer *checkpointer)
{
    wd_error ignored;
    bool tried = false;
    if (checkpointer == NULL)
        return;
    (void)pthread_mutex_lock(&checkpointer->lock);
    checkpointer->stopping = true;
    (void)pthread_cond_signal(&checkpointer->news);
    (void)pthread_mutex_unlock(&checkpointer->lock);
    if (checkpointer->has_thread) {
        (void)pthread_join(checkpointer->thread, NULL);
        (void)sign_if(checkpointer, 1, &tried, &ignored);
    }
    (void)pthread_cond_destroy(&checkpointer->news);
    (void)pthread_mutex_destroy(&checkpointer->turn);
    (void)pthread_mutex_destroy(&checkpointer->lock);
    free(checkpointer);
}
