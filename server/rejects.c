#include "server/rejects.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/audit_rows.h"
#include "store/audit.h"

#define HOST_BYTES       64U
#define TEXT_BYTES       128U
#define ROWS_OF_STRANGER 1U /* the count */
#define ROWS_OF_CALLER   2U /* the first one's, and the count of the others */

typedef struct entry {
    const char *event, *reason, *principal;
    wd_status code;
    char host[HOST_BYTES];
    char token_id[WD_TOKEN_ID_CHARS + 1];
    char text[TEXT_BYTES]; /* of the first one */
    uint64_t count;        /* of those that have no row of their own */
    bool answered;
} entry;

typedef struct table {
    size_t n_entries, n_rows; /* rows that they may take */
    uint64_t beyond;          /* refusals for which there was no entry */
    entry entries[WD_REJECT_ROWS];
} table;

typedef struct batch { /* what one second brought; also the writer's job */
    wd_store_job job;
    wd_rejects *rejects;
    table strangers, callers;
} batch;

struct wd_rejects {
    pthread_mutex_t lock;
    batch *now;    /* NULL: nothing was noted since the last flush */
    uint64_t lost; /* no memory to note them */
};

wd_rejects *wd_rejects_new(void)
{
    wd_rejects *rejects = calloc(1, sizeof(*rejects));

    if (rejects != NULL)
        (void)pthread_mutex_init(&rejects->lock, NULL);
    return rejects;
}

void wd_rejects_free(wd_rejects *rejects)
{
    if (rejects == NULL)
        return;
    free(rejects->now);
    (void)pthread_mutex_destroy(&rejects->lock);
    free(rejects);
}

/* --- counting ------------------------------------------------------------------------- */

/* "10.0.0.1:4711" and "[::1]:4711" without their ports. */
static void host_of(const char *address, char host[HOST_BYTES])
{
    const char *colon = strrchr(address, ':');
    size_t length = colon != NULL ? (size_t)(colon - address) : strlen(address);

    (void)snprintf(host, HOST_BYTES, "%.*s", (int)length, address);
}

static entry entry_of(const wd_reject *reject)
{
    entry made = {
        .event = reject->event,
        .reason = reject->reason,
        .principal = reject->principal,
        .code = reject->code,
        .answered = reject->answered,
    };

    host_of(reject->address, made.host);
    (void)snprintf(made.token_id, sizeof(made.token_id), "%s",
                   reject->token_id != NULL ? reject->token_id : "");
    (void)snprintf(made.text, sizeof(made.text), "%s",
                   reject->detail != NULL ? reject->detail : "");
    return made;
}

static bool alike(const entry *a, const entry *b)
{
    return strcmp(a->event, b->event) == 0 && strcmp(a->reason, b->reason) == 0 &&
           a->principal == b->principal && strcmp(a->host, b->host) == 0 &&
           strcmp(a->token_id, b->token_id) == 0;
}

/* One caller, from however many places, leaves room for the others' refusals. */
static bool has_share(const table *in, const char *principal)
{
    size_t n = 0;

    for (size_t i = 0; principal != NULL && i < in->n_entries; i++)
        n += in->entries[i].principal == principal;
    return n >= WD_REJECT_SHARE;
}

/* The entry of this kind, made when new. NULL: there are as many kinds as rows; the last
 * row is for the rest. */
static entry *find_or_make(batch *now, const entry *kind, bool *ret_new)
{
    table *in = kind->principal != NULL ? &now->callers : &now->strangers;
    size_t rows = kind->principal != NULL ? ROWS_OF_CALLER : ROWS_OF_STRANGER;

    *ret_new = false;
    for (size_t i = 0; i < in->n_entries; i++) {
        if (alike(&in->entries[i], kind))
            return &in->entries[i];
    }
    if (in->n_rows + rows > WD_REJECT_ROWS - 1 || has_share(in, kind->principal)) {
        in->beyond++;
        return NULL;
    }
    in->n_rows += rows;
    *ret_new = true;
    entry *fresh = &in->entries[in->n_entries++];
    *fresh = *kind;
    fresh->count = 0;
    return fresh;
}

/* The entry of the current second, with the lock held. */
static entry *enter(wd_rejects *rejects, const wd_reject *reject, bool *ret_new)
{
    const entry kind = entry_of(reject);

    *ret_new = false;
    if (rejects->now == NULL)
        rejects->now = calloc(1, sizeof(batch));
    if (rejects->now == NULL) {
        rejects->lost++;
        return NULL;
    }
    return find_or_make(rejects->now, &kind, ret_new);
}

void wd_rejects_note(wd_rejects *rejects, const wd_reject *reject)
{
    bool is_new;

    (void)pthread_mutex_lock(&rejects->lock);
    entry *at = enter(rejects, reject, &is_new);
    if (at != NULL)
        at->count++;
    (void)pthread_mutex_unlock(&rejects->lock);
}

bool wd_rejects_first(wd_rejects *rejects, const wd_reject *reject)
{
    bool is_new;

    (void)pthread_mutex_lock(&rejects->lock);
    entry *at = enter(rejects, reject, &is_new);
    if (at != NULL && !is_new)
        at->count++;
    (void)pthread_mutex_unlock(&rejects->lock);
    return is_new;
}

/* --- writing --------------------------------------------------------------------------- */

static wd_status append(wd_store *store, const entry *noted, wd_error *err)
{
    char message[2 * TEXT_BYTES];
    char detail[sizeof(message) + 64];

    wd_rows_detail(message, sizeof(message), "message", noted->text);
    (void)snprintf(detail, sizeof(detail), "{\"count\":%llu,%s",
                   (unsigned long long)noted->count, message + 1);
    const wd_audit_row row = {
        .event = noted->event,
        .outcome = noted->answered ? "ok" : "refused",
        .code = (uint32_t)noted->code,
        .reason = noted->reason,
        .principal = noted->principal,
        .token_id = noted->token_id,
        .peer_addr = noted->host,
        .detail = detail,
    };
    return wd_audit_append(store, &row, err);
}

static wd_status append_table(wd_store *store, const table *from, const char *event,
                              wd_error *err)
{
    const entry rest = {
        .event = event,
        .reason = "more_than_100_a_second",
        .count = from->beyond,
    };

    for (size_t i = 0; i < from->n_entries; i++) {
        if (from->entries[i].count > 0)
            WD_TRY(append(store, &from->entries[i], err));
    }
    return rest.count > 0 ? append(store, &rest, err) : WD_OK;
}

static wd_status apply(wd_store *store, wd_store_job *job, wd_error *err)
{
    const batch *past = WD_CONTAINER(job, batch, job);

    WD_TRY(append_table(store, &past->strangers, "tls.reject", err));
    return append_table(store, &past->callers, "call.refused", err);
}

/* Add what could not be written to what came since. */
static void merge(batch *now, const table *past, table *into)
{
    into->beyond += past->beyond;
    for (size_t i = 0; i < past->n_entries; i++) {
        bool is_new;
        const entry *from = &past->entries[i];
        if (from->count == 0)
            continue;
        entry *at = find_or_make(now, from, &is_new);
        if (at != NULL)
            at->count += from->count;
        else
            into->beyond += from->count - 1; /* one was counted there just now */
    }
}

/* It could not be written: it waits for the next flush. */
static void put_back(wd_rejects *rejects, batch *past)
{
    (void)pthread_mutex_lock(&rejects->lock);
    batch *now = rejects->now;
    if (now == NULL) {
        rejects->now = WD_STEAL(past);
    } else {
        merge(now, &past->strangers, &now->strangers);
        merge(now, &past->callers, &now->callers);
    }
    (void)pthread_mutex_unlock(&rejects->lock);
    free(past);
}

static void done(wd_store_job *job)
{
    batch *past = WD_CONTAINER(job, batch, job);

    if (job->status == WD_OK)
        free(past);
    else
        put_back(past->rejects, past);
}

void wd_rejects_flush(wd_rejects *rejects, wd_writer *writer)
{
    (void)pthread_mutex_lock(&rejects->lock);
    batch *now = WD_STEAL(rejects->now);
    if (now != NULL) {
        now->strangers.beyond += rejects->lost;
        rejects->lost = 0;
    }
    (void)pthread_mutex_unlock(&rejects->lock);
    if (now == NULL)
        return;
    now->rejects = rejects;
    now->job.apply = apply;
    now->job.done = done;
    now->job.rank = WD_JOB_IF_ROOM;
    wd_writer_submit(writer, &now->job);
}
