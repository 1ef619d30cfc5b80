/* Audit.Export: whole lines of rows, a piece at a time, each piece on record. */
#include <inttypes.h>
#include <stdio.h>

#include "proto/c/sha256.h"
#include "server/parts.h"
#include "server/service/pb.h"
#include "server/service/row_info.h"
#include "server/service/trail.h"
#include "server/service/trail_reads.h"
#include "store/audit_export.h"
#include "warded/v1/audit.wd.h"

#define LEAST_BYTES   (64U << 10)
#define MOST_BYTES    (8U << 20)
#define DEFAULT_BYTES (1U << 20)

typedef struct piece {
    wd_export_format format;
    size_t most; /* bytes; the last line may go beyond it */
    wd_buffer data;
    wd_trail_read read;
    bool failed; /* no memory */
} piece;

static bool add_row(void *arg, const wd_audit_row *row)
{
    piece *p = arg;

    p->failed = !wd_export_row(p->format, row, &p->data);
    if (p->failed)
        return false;
    if (p->read.rows++ == 0)
        p->read.first_seq = row->seq;
    p->read.last_seq = row->seq;
    return p->data.size < p->most;
}

static wd_status check(const Warded__V1__ExportRequest *request, wd_error *err)
{
    uint32_t most = request->max_bytes;

    if (most != 0 && (most < LEAST_BYTES || most > MOST_BYTES))
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "max_bytes: %u to %u, or 0",
                         LEAST_BYTES, MOST_BYTES);
    if ((uint32_t)request->format > WD_EXPORT_CEF)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "format is %d, at most %d: this gate has no other",
                         (int)request->format, WD_EXPORT_CEF);
    if (request->from_seq > INT64_MAX || request->to_seq > INT64_MAX)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "from_seq and to_seq are at most 2^63 - 1");
    return wd_trail_check_filter(request->filter, err);
}

/* Page by page, until the piece is full or there is no more. */
static wd_status fill(wd_reader *reader, wd_audit_filter *filter, piece *p,
                      uint64_t *ret_next, wd_error *err)
{
    const wd_audit_sink sink = {add_row, p};

    do {
        WD_TRY(wd_audit_query(reader, filter, &sink, ret_next, err));
        if (p->failed)
            return wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
        filter->from_seq = *ret_next;
    } while (*ret_next != 0 && p->data.size < p->most);
    if (*ret_next > filter->to_seq)
        *ret_next = 0;
    return WD_OK;
}

static wd_status tell(wd_call *call, piece *p, uint64_t to_seq, uint64_t next,
                      wd_error *err)
{
    Warded__V1__ExportReply reply = WARDED__V1__EXPORT_REPLY__INIT;
    uint8_t digest[WD_SHA256_BYTES];

    wd_sha256_of(wd_buffer_span(&p->data), digest);
    WD_TRY(wd_trail_export_note(call, &p->read, digest, err));
    reply.data = wd_pb_bytes(p->data.data, p->data.size);
    reply.next_seq = next;
    reply.to_seq = to_seq;
    reply.rows = (uint32_t)p->read.rows;
    reply.sha256 = wd_pb_bytes(digest, sizeof(digest));
    return wd_warded_v1_audit_reply_export(call, &reply, err);
}

static wd_status make(wd_call *call, const Warded__V1__ExportRequest *request, piece *p,
                      wd_error *err)
{
    WD_AUTO(wd_reader) *reader = NULL;
    wd_audit_filter filter = {.from_seq = request->from_seq,
                              .to_seq = request->to_seq,
                              .limit = WD_AUDIT_QUERY_ROWS};
    uint64_t next = 0;

    WD_TRY(check(request, err));
    wd_row_filter(request->filter, &filter);
    if (filter.to_seq == 0)
        filter.to_seq = wd_audit_head(call->gate->store).seq;
    if (!request->goes_on && !wd_export_header(p->format, &p->data))
        return wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
    WD_TRY(wd_trail_reader(call, &reader, err));
    uint64_t to_seq = filter.to_seq;
    WD_TRY(fill(reader, &filter, p, &next, err));
    return tell(call, p, to_seq, next, err);
}

wd_step wd_trail_export(void *self, wd_call *call,
                        const Warded__V1__ExportRequest *request, wd_error *err)
{
    piece p = {.format = (wd_export_format)request->format,
               .most = request->max_bytes != 0 ? request->max_bytes : DEFAULT_BYTES,
               .data = WD_BUFFER_INIT};

    (void)self;
    wd_status status = make(call, request, &p, err);
    wd_buffer_done(&p.data);
    return wd_trail_step(status, err);
}
