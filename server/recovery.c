#include "server/recovery.h"

#include <stdio.h>
#include <string.h>

#include "proto/c/alloc.h"
#include "store/audit.h"

#define PIECE_ROWS  256U
#define PIECE_BYTES ((size_t)512 << 10) /* for the few texts of each row */

/* Rows of calls that began, in pieces, with their text in the same memory. */
typedef struct piece {
    struct piece *next;
    size_t n_rows;
    wd_audit_row rows[PIECE_ROWS];
    wd_budget *text;
} piece;

typedef struct life {
    wd_store_job job;
    wd_gate *gate;
    const char *event; /* gate.start, gate.stop */
    bool crashed;      /* the gate before did not say that it stops */
    piece *first, *last;
    uint64_t n_open;
    bool no_memory;
} life;

static void free_pieces(life *l)
{
    while (l->first != NULL) {
        piece *first = l->first;
        l->first = first->next;
        wd_budget_free(first->text);
        free(first);
    }
}

static piece *room(life *l)
{
    if (l->last != NULL && l->last->n_rows < PIECE_ROWS)
        return l->last;
    piece *fresh = calloc(1, sizeof(*fresh));
    if (fresh == NULL)
        return NULL;
    fresh->text = wd_budget_new(PIECE_BYTES);
    if (l->last == NULL)
        l->first = fresh;
    else
        l->last->next = fresh;
    l->last = fresh;
    return fresh->text != NULL ? fresh : NULL;
}

static const char *copy(life *l, piece *to, const char *text)
{
    if (text == NULL)
        return NULL;
    const char *kept = wd_budget_text(to->text, text, strlen(text));
    l->no_memory |= kept == NULL;
    return kept;
}

static bool note_open(void *arg, const wd_audit_row *row)
{
    life *l = arg;
    piece *to = room(l);

    if (to == NULL) {
        l->no_memory = true;
        return false;
    }
    to->rows[to->n_rows++] = (wd_audit_row){
        .event = "call.end",
        .outcome = "failed",
        .code = WD_ABORTED,
        .reason = wd_reason_name(WD_REASON_OUTCOME_UNKNOWN),
        .principal = copy(l, to, row->principal),
        .token_id = copy(l, to, row->token_id),
        .method = copy(l, to, row->method),
        .scope = copy(l, to, row->scope),
        .trajectory_id = copy(l, to, row->trajectory_id),
        .call_id = copy(l, to, row->call_id),
        .digest = copy(l, to, row->digest),
        .tool = copy(l, to, row->tool),
        .item = row->item,
        .detail = "{\"message\":\"cut off when the gate ended\"}",
    };
    l->n_open++;
    return !l->no_memory;
}

static wd_status append_piece(wd_store *store, const piece *at, wd_error *err)
{
    for (size_t i = 0; i < at->n_rows; i++)
        WD_TRY(wd_audit_append(store, &at->rows[i], err));
    return WD_OK;
}

static wd_status apply_recovered(wd_store *store, const life *l, wd_error *err)
{
    char detail[64];

    if (!l->crashed)
        return WD_OK;
    for (const piece *at = l->first; at != NULL; at = at->next)
        WD_TRY(append_piece(store, at, err));
    (void)snprintf(detail, sizeof(detail), "{\"open\":%llu}",
                   (unsigned long long)l->n_open);
    const wd_audit_row row = {
        .event = "gate.recovered",
        .outcome = "ok",
        .principal = l->gate->uri,
        .detail = detail,
    };
    return wd_audit_append(store, &row, err);
}

static wd_status apply(wd_store *store, wd_store_job *job, wd_error *err)
{
    const life *l = WD_CONTAINER(job, life, job);
    const wd_config *config = l->gate->config;
    bool external = config->sandbox.mode == WD_SANDBOX_EXTERNAL;
    char detail[128];

    WD_TRY(apply_recovered(store, l, err));
    (void)snprintf(detail, sizeof(detail), "{\"version\":\"%s\",\"sandbox\":\"%s\"}",
                   WD_VERSION, external ? "external" : "namespaces");
    const wd_audit_row row = {
        .event = l->event,
        .outcome = "ok",
        .principal = l->gate->uri,
        .detail = detail,
    };
    return wd_audit_append(store, &row, err);
}

wd_status wd_recovery_run(wd_gate *gate, wd_reader *reader, wd_error *err)
{
    life l = {.gate = gate, .event = "gate.start", .job = {.apply = apply}};
    const wd_audit_sink sink = {note_open, &l};
    wd_status status = wd_audit_crashed(reader, &l.crashed, err);

    if (status == WD_OK)
        status = wd_audit_open_calls(reader, &sink, err);
    if (status == WD_OK && l.no_memory)
        status = wd_fail(err, WD_INTERNAL, "no memory for the calls that were cut off");
    if (status == WD_OK)
        status = wd_store_run(gate->store, &l.job, err);
    free_pieces(&l);
    return status;
}

wd_status wd_recovery_stop(wd_gate *gate, wd_error *err)
{
    life l = {.gate = gate, .event = "gate.stop", .job = {.apply = apply}};

    return wd_store_run(gate->store, &l.job, err);
}
