#include "server/rejects.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/audit_rows.h"
#include "store/audit.h"

#define HOST_BYTES 64U
#define TEXT_BYTES 128U

typedef struct entry {
    const char *event, *reason;
    char host[HOST_BYTES];
    char text[TEXT_BYTES]; /* of the first one */
    uint64_t count;
} entry;

typedef struct batch { /* what one second brought; also the writer's job */
    wd_store_job job;
    size_t n_entries;
    uint64_t beyond; /* refusals that had no row of their own */
    entry entries[WD_REJECT_ROWS];
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

/* "10.0.0.1:4711" and "[::1]:4711" without their ports. */
static void host_of(const char *address, char host[HOST_BYTES])
{
    const char *colon = strrchr(address, ':');
    size_t length = colon != NULL ? (size_t)(colon - address) : strlen(address);

    (void)snprintf(host, HOST_BYTES, "%.*s", (int)length, address);
}

static void add(batch *now, const wd_reject *reject)
{
    char host[HOST_BYTES];

    host_of(reject->address, host);
    for (size_t i = 0; i < now->n_entries; i++) {
        entry *at = &now->entries[i];
        if (strcmp(at->event, reject->event) == 0 &&
            strcmp(at->reason, reject->reason) == 0 && strcmp(at->host, host) == 0) {
            at->count++;
            return;
        }
    }
    if (now->n_entries == WD_REJECT_ROWS - 1) { /* the last row is for the rest */
        now->beyond++;
        return;
    }
    entry *fresh = &now->entries[now->n_entries++];
    *fresh = (entry){.event = reject->event, .reason = reject->reason, .count = 1};
    memcpy(fresh->host, host, sizeof(fresh->host));
    (void)snprintf(fresh->text, sizeof(fresh->text), "%s",
                   reject->detail != NULL ? reject->detail : "");
}

void wd_rejects_note(wd_rejects *rejects, const wd_reject *reject)
{
    (void)pthread_mutex_lock(&rejects->lock);
    if (rejects->now == NULL)
        rejects->now = calloc(1, sizeof(batch));
    if (rejects->now != NULL)
        add(rejects->now, reject);
    else
        rejects->lost++;
    (void)pthread_mutex_unlock(&rejects->lock);
}

static wd_status append(wd_store *store, const entry *noted, wd_error *err)
{
    char message[2 * TEXT_BYTES];
    char detail[sizeof(message) + 64];

    wd_rows_detail(message, sizeof(message), "message", noted->text);
    (void)snprintf(detail, sizeof(detail), "{\"count\":%llu,%s",
                   (unsigned long long)noted->count, message + 1);
    const wd_audit_row row = {
        .event = noted->event,
        .outcome = "refused",
        .reason = noted->reason,
        .peer_addr = noted->host,
        .detail = detail,
    };
    return wd_audit_append(store, &row, err);
}

static wd_status apply(wd_store *store, wd_store_job *job, wd_error *err)
{
    const batch *now = WD_CONTAINER(job, batch, job);

    for (size_t i = 0; i < now->n_entries; i++)
        WD_TRY(append(store, &now->entries[i], err));
    if (now->beyond == 0)
        return WD_OK;
    const entry rest = {
        .event = "tls.reject",
        .reason = "more_than_100_a_second",
        .count = now->beyond,
    };
    return append(store, &rest, err);
}

static void done(wd_store_job *job)
{
    free(WD_CONTAINER(job, batch, job));
}

void wd_rejects_flush(wd_rejects *rejects, wd_writer *writer)
{
    (void)pthread_mutex_lock(&rejects->lock);
    batch *now = WD_STEAL(rejects->now);
    if (now != NULL) {
        now->beyond += rejects->lost;
        rejects->lost = 0;
    }
    (void)pthread_mutex_unlock(&rejects->lock);
    if (now == NULL)
        return;
    now->job.apply = apply;
    now->job.done = done;
    wd_writer_submit(writer, &now->job);
}
