#include <inttypes.h>
#include <stdio.h>

#include "proto/tls/binding.h"

static int refuse(nng_tls_engine_conn *c, wd_tls_charge why)
{
    char text[128];
    bool of_all = why == WD_TLS_OVER_BUDGET;

    (void)snprintf(text, sizeof text,
                   "%s of %" PRIu64 " request bytes has no room for %" PRIu64 " more",
                   of_all ? "the budget" : "a principal's share, a quarter,",
                   c->binding->options.request_bytes, c->in.length);
    return wd_conn_fail(c, of_all ? WD_TLS_REQUEST_BYTES : WD_TLS_REQUEST_SHARE, 0,
                        text);
}

/* NNG allocates it next, unless it is longer than NNG takes: that is left to NNG. */
static int charge(nng_tls_engine_conn *c)
{
    uint64_t most = c->binding->options.frame_bytes;
    wd_tls_charge answer;

    if (c->account == NULL || (most > 0 && c->in.length > most))
        return 0;
    answer = wd_tls_account_charge(c->account, c->in.length);
    if (answer != WD_TLS_CHARGED)
        return refuse(c, answer);
    c->charged = c->in.length;
    return 0;
}

/* REP's owner sees the body only, and none of a message that REP drops. */
static void give_back(nng_tls_engine_conn *c, uint64_t bytes)
{
    if (c->account == NULL || c->charged < bytes)
        return;
    c->charged -= bytes;
    wd_tls_account_give_back(c->account, bytes);
}

static int on_event(nng_tls_engine_conn *c, wd_frame_event event)
{
    switch (event) {
    case WD_FRAME_LENGTH:
        return charge(c);
    case WD_FRAME_TRACED:
        give_back(c, (uint64_t)c->in.words * 4);
        return 0;
    case WD_FRAME_END:
        if (!c->in.traced)
            give_back(c, c->charged);
        c->charged = 0;
        wd_tls_account_whole(c->account);
        return 0;
    case WD_FRAME_MORE:
        break;
    }
    return 0;
}

/* The clock is read when a message begins, and for each WD_PROGRESS_BYTES of it. */
static void note_progress(nng_tls_engine_conn *c, size_t n)
{
    if (!wd_frames_inside(&c->in)) {
        atomic_store(&c->frame_ms, 0);
        return;
    }
    c->moved += n;
    if (atomic_load(&c->frame_ms) != 0 && c->moved < WD_PROGRESS_BYTES)
        return;
    c->moved = 0;
    atomic_store(&c->frame_ms, wd_now_ms());
}

int wd_conn_account_read(nng_tls_engine_conn *c, const uint8_t *data, size_t n)
{
    wd_frame_event event;
    size_t at = 0;
    int rv;

    do {
        at += wd_frames_take(&c->in, data + at, n - at, &event);
        rv = on_event(c, event);
        if (rv != 0)
            return rv;
    } while (event != WD_FRAME_MORE);
    note_progress(c, n);
    return 0;
}

/* --- what goes out ------------------------------------------------------------------- */

void wd_conn_account_sent(nng_tls_engine_conn *c, const uint8_t *data, size_t n)
{
    wd_frame_event event;
    size_t at = 0;

    do {
        at += wd_frames_take(&c->sent, data + at, n - at, &event);
        if (event == WD_FRAME_END)
            wd_tls_account_reply_gone(c->account,
                                      c->sent.length - (uint64_t)c->sent.words * 4);
    } while (event != WD_FRAME_MORE);
    if (!wd_frames_inside(&c->sent) && atomic_load(&c->stalled_ms) != 0)
        atomic_store(&c->stalled_ms, 0);
}

/* The clock is read for each WD_PROGRESS_BYTES. */
static void note_taken(nng_tls_engine_conn *c, size_t n)
{
    c->taken += n;
    if (c->taken < WD_PROGRESS_BYTES)
        return;
    c->taken = 0;
    wd_tls_account_set_took(c->account, wd_now_ms());
}

/* Within a message a few bytes now and then are not enough: who takes them so slowly
 * keeps the whole of it in memory. */
void wd_conn_note_drained(nng_tls_engine_conn *c, size_t n)
{
    note_taken(c, n);
    c->drained += n;
    if (wd_frames_inside(&c->sent) && c->drained < WD_PROGRESS_BYTES)
        return;
    c->drained = 0;
    atomic_store(&c->stalled_ms, 0);
}

void wd_conn_note_stuck(nng_tls_engine_conn *c)
{
    if (atomic_load(&c->stalled_ms) != 0)
        return;
    c->drained = 0;
    atomic_store(&c->stalled_ms, wd_now_ms());
}
