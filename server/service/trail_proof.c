/* Audit.Show, Verify and Checkpoint: rows with what makes them believable. */
#include <stdlib.h>
#include <string.h>

#include "server/audit_keeper.h"
#include "server/parts.h"
#include "server/service/pb.h"
#include "server/service/row_info.h"
#include "server/service/trail.h"
#include "server/service/trail_reads.h"
#include "store/audit_verify.h"
#include "store/audit_where.h"
#include "store/told.h"
#include "warded/v1/audit.wd.h"

#define MOST_WITNESSED 65536U

wd_status wd_trail_reader(const wd_call *call, wd_reader **ret_reader, wd_error *err)
{
    wd_error cause;
    wd_status status = wd_reader_open(call->gate->config->store.path,
                                      call->gate->options.vfs, ret_reader, &cause);

    if (status == WD_NOT_FOUND) /* the store itself, not what was asked for */
        return wd_refuse(err, WD_REASON_STORE_UNAVAILABLE, "%s", cause.msg);
    if (status != WD_OK) {
        *err = cause;
        return status;
    }
    wd_reader_set_deadline(*ret_reader, call->deadline_ms);
    return WD_OK;
}

wd_step wd_trail_step(wd_status status, wd_error *err)
{
    if (status == WD_OK)
        return WD_NEXT;
    wd_store_tell(err);
    return WD_FAILED;
}

static wd_status no_memory(wd_error *err)
{
    return wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
}

/* The newest checkpoint, or the first at or after a row; "": there is none yet. */
static wd_status find_checkpoint(wd_reader *reader, uint64_t at_seq, char **ret_text,
                                 wd_error *err)
{
    wd_error cause;
    wd_status status = wd_checkpoint_find(reader, at_seq, ret_text, &cause);

    if (status == WD_NOT_FOUND) {
        *ret_text = strdup("");
        return *ret_text != NULL ? WD_OK : no_memory(err);
    }
    if (status != WD_OK && err != NULL)
        *err = cause;
    return status;
}

/* --- Show --------------------------------------------------------------------------------- */

typedef struct shown {
    wd_budget *budget;
    Warded__V1__AuditRow **rows;
    size_t n, room;
    bool full;
} shown;

static bool gather(void *arg, const wd_audit_row *row)
{
    shown *s = arg;

    s->rows[s->n] = s->n < s->room ? wd_row_info_copy(row, s->budget) : NULL;
    s->full = s->rows[s->n] == NULL;
    s->n += !s->full;
    return !s->full;
}

static wd_status filter_of(const Warded__V1__AuditShowRequest *request,
                           wd_audit_filter *ret_filter, wd_error *err)
{
    bool by_call = request->call_id[0] != '\0';

    *ret_filter = (wd_audit_filter){.limit = by_call ? WD_AUDIT_QUERY_ROWS : 1};
    if (by_call == (request->seq != 0) || request->seq > INT64_MAX)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "one of seq (1 to 2^63 - 1) and call_id is needed");
    ret_filter->call_id = by_call ? request->call_id : NULL;
    ret_filter->from_seq = request->seq;
    ret_filter->to_seq = request->seq;
    return WD_OK;
}

/* Each row has its hash and follows the one before. */
static wd_status check_rows(wd_reader *reader, const shown *s, bool *ret_ok,
                            wd_error *err)
{
    wd_audit_report report = {.fault = WD_AUDIT_SOUND};
    wd_error cause;

    *ret_ok = true;
    for (size_t i = 0; i < s->n && *ret_ok; i++) {
        const wd_audit_range one = {
            .first = s->rows[i]->seq, .last = s->rows[i]->seq, .threads = 1};
        if (wd_audit_verify(reader, &one, &report, &cause) == WD_OK)
            continue;
        if (report.fault == WD_AUDIT_SOUND) { /* it could not be read */
            if (err != NULL)
                *err = cause;
            return cause.status;
        }
        *ret_ok = false;
    }
    return WD_OK;
}

static wd_status prove(wd_call *call, wd_reader *reader, const shown *s, wd_error *err)
{
    Warded__V1__AuditShowReply reply = WARDED__V1__AUDIT_SHOW_REPLY__INIT;
    WD_AUTO(wd_text) *checkpoint = NULL;
    char where[WD_AUDIT_WHERE_BYTES];
    bool ok = false;
    uint64_t last = s->rows[s->n - 1]->seq;
    const wd_trail_read read = {s->n, s->rows[0]->seq, last};

    WD_TRY(check_rows(reader, s, &ok, err));
    WD_TRY(find_checkpoint(reader, last, &checkpoint, err));
    WD_TRY(wd_audit_where(reader, last, where, err));
    WD_TRY(wd_trail_read_note(call, &read, err));
    reply.rows = s->rows;
    reply.n_rows = s->n;
    reply.hash_ok = ok;
    reply.checkpoint = checkpoint;
    reply.segment = where;
    return wd_warded_v1_audit_reply_show(call, &reply, err);
}

/* No row, but perhaps the tombstone of the range that it was in. */
static wd_status tell_pruned(wd_call *call, wd_reader *reader, uint64_t seq,
                             wd_error *err)
{
    Warded__V1__AuditShowReply reply = WARDED__V1__AUDIT_SHOW_REPLY__INIT;
    WD_AUTO_TOMBSTONES gaps = {0};
    WD_AUTO(wd_budget) *budget = wd_budget_new(WD_ROW_GAP_BYTES);
    const wd_trail_read read = {.rows = 0};

    if (seq != 0)
        WD_TRY(wd_tombstones_between(reader, seq, seq, &gaps, err));
    if (gaps.n == 0)
        return wd_refuse(err, WD_REASON_NOT_ON_RECORD,
                         "there is no such row in the trail");
    if (budget != NULL)
        reply.pruned = wd_row_gap_copy(&gaps.list[0], budget);
    if (reply.pruned == NULL)
        return no_memory(err);
    WD_TRY(wd_trail_read_note(call, &read, err));
    return wd_warded_v1_audit_reply_show(call, &reply, err);
}

static wd_status show(wd_call *call, const Warded__V1__AuditShowRequest *request,
                      wd_error *err)
{
    wd_audit_filter filter;
    WD_TRY(filter_of(request, &filter, err));
    WD_AUTO(wd_reader) *reader = NULL;
    WD_AUTO(wd_budget) *budget = wd_budget_new((size_t)filter.limit * 2048);
    shown s = {.budget = budget, .room = filter.limit};
    const wd_audit_sink sink = {gather, &s};
    uint64_t next = 0;

    s.rows =
        budget != NULL ? wd_budget_take(budget, (s.room + 1) * sizeof(*s.rows)) : NULL;
    if (s.rows == NULL)
        return no_memory(err);
    WD_TRY(wd_trail_reader(call, &reader, err));
    WD_TRY(wd_audit_query(reader, &filter, &sink, &next, err));
    if (s.full)
        return no_memory(err);
    if (s.n == 0)
        return tell_pruned(call, reader, request->seq, err);
    return prove(call, reader, &s, err);
}

wd_step wd_trail_show(void *self, wd_call *call,
                      const Warded__V1__AuditShowRequest *request, wd_error *err)
{
    (void)self;
    return wd_trail_step(show(call, request, err), err);
}

/* --- Verify ------------------------------------------------------------------------------- */

static wd_status take_witnessed(const Warded__V1__VerifyRequest *request,
                                wd_head *heads, wd_error *err)
{
    for (size_t i = 0; i < request->n_witnessed; i++) {
        const Warded__V1__AuditHead *head = request->witnessed[i];
        if (head->hash.len != WD_AUDIT_HASH_BYTES)
            return wd_refuse(err, WD_REASON_FIELD_INVALID,
                             "witnessed: the hash of head %zu has %zu bytes, not %u", i,
                             head->hash.len, WD_AUDIT_HASH_BYTES);
        heads[i].seq = head->seq;
        memcpy(heads[i].hash, head->hash.data, WD_AUDIT_HASH_BYTES);
    }
    return WD_OK;
}

static wd_status tell(wd_call *call, const wd_audit_report *report, const char *message,
                      wd_error *err)
{
    Warded__V1__VerifyReply reply = WARDED__V1__VERIFY_REPLY__INIT;
    Warded__V1__AuditHead head = WARDED__V1__AUDIT_HEAD__INIT;
    const wd_trail_read read = {.rows = report->rows, .last_seq = report->head.seq};

    WD_TRY(wd_trail_read_note(call, &read, err));
    head.seq = report->head.seq;
    head.hash = wd_pb_bytes(report->head.hash, WD_AUDIT_HASH_BYTES);
    reply.head = &head;
    reply.ok = report->fault == WD_AUDIT_SOUND;
    reply.fault = (Warded__V1__VerifyReply__Fault)report->fault;
    reply.bad_seq = report->bad_seq;
    reply.message = wd_pb_text(message);
    reply.rows = report->rows;
    reply.witnessed = (uint32_t)report->n_witnessed;
    reply.tokens = (uint32_t)report->n_tokens;
    reply.checkpoints = (uint32_t)report->n_signatures;
    reply.tombstones = (uint32_t)report->n_tombstones;
    reply.segments = (uint32_t)report->n_segments;
    reply.unchecked = (uint32_t)report->n_unchecked;
    return wd_warded_v1_audit_reply_verify(call, &reply, err);
}

static wd_status verify(wd_call *call, const Warded__V1__VerifyRequest *request,
                        wd_error *err)
{
    WD_AUTO(wd_reader) *reader = NULL;
    wd_audit_report report = {.fault = WD_AUDIT_SOUND};
    wd_error cause = {.status = WD_OK};

    if (request->n_witnessed > MOST_WITNESSED)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "witnessed: %zu heads, at most %u", request->n_witnessed,
                         MOST_WITNESSED);
    wd_head *heads =
        wd_budget_take(call->budget, (request->n_witnessed + 1) * sizeof(*heads));
    if (heads == NULL)
        return no_memory(err);
    WD_TRY(take_witnessed(request, heads, err));
    const wd_checker checker = wd_audit_keeper_checker(call->gate->audit_keeper);
    const wd_audit_range range = {
        .first = request->from_seq,
        .last = request->to_seq,
        .witnessed = heads,
        .n_witnessed = request->n_witnessed,
        .checkpoint = request->checkpoint[0] != '\0' ? request->checkpoint : NULL,
        .checker = &checker,
        .exports =
            request->exports_elsewhere ? NULL : call->gate->config->audit.export_dir,
    };
    WD_TRY(wd_trail_reader(call, &reader, err));
    if (wd_audit_verify(reader, &range, &report, &cause) != WD_OK &&
        report.fault == WD_AUDIT_SOUND) {
        *err = cause; /* it could not be read, or was asked for wrongly */
        return cause.status;
    }
    return tell(call, &report, cause.status != WD_OK ? cause.msg : "", err);
}

wd_step wd_trail_verify(void *self, wd_call *call,
                        const Warded__V1__VerifyRequest *request, wd_error *err)
{
    (void)self;
    return wd_trail_step(verify(call, request, err), err);
}

/* --- Checkpoint --------------------------------------------------------------------------- */

/* What a checkpoint that is on record says, and with whose key. One that says nothing, or
 * whose key is not on record, is damage and no mistake of the caller's. */
static wd_status read_signer(wd_reader *reader, const char *text, wd_checkpoint *what,
                             char **ret_certificate, wd_error *err)
{
    wd_error cause;
    wd_status status = wd_checkpoint_parse(text, what, &cause);

    if (status == WD_OK)
        status =
            wd_checkpoint_certificate(reader, what->key_id, ret_certificate, &cause);
    if (status == WD_INVALID_ARGUMENT || status == WD_NOT_FOUND)
        return wd_refuse(err, WD_REASON_CHAIN_BROKEN, "%s", cause.msg);
    if (status != WD_OK)
        *err = cause;
    return status;
}

static wd_status checkpoint(wd_call *call, const Warded__V1__CheckpointRequest *request,
                            wd_error *err)
{
    Warded__V1__CheckpointReply reply = WARDED__V1__CHECKPOINT_REPLY__INIT;
    WD_AUTO(wd_reader) *reader = NULL;
    WD_AUTO(wd_text) *text = NULL;
    WD_AUTO(wd_text) *certificate = NULL;
    wd_checkpoint what;

    if (request->at_seq > INT64_MAX || (request->now && request->at_seq != 0))
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "now, or at_seq of at most 2^63 - 1, not both");
    if (request->now)
        WD_TRY(wd_checkpointer_now(
            wd_audit_keeper_checkpointer(call->gate->audit_keeper), err));
    WD_TRY(wd_trail_reader(call, &reader, err));
    WD_TRY(wd_checkpoint_find(reader, request->at_seq, &text, err));
    WD_TRY(read_signer(reader, text, &what, &certificate, err));
    reply.checkpoint = text;
    reply.seq = what.head.seq;
    reply.signed_ms = (uint64_t)what.signed_ms;
    reply.certificate = certificate;
    return wd_warded_v1_audit_reply_checkpoint(call, &reply, err);
}

wd_step wd_trail_checkpoint(void *self, wd_call *call,
                            const Warded__V1__CheckpointRequest *request, wd_error *err)
{
    (void)self;
    return wd_trail_step(checkpoint(call, request, err), err);
}
