/* audit_export.h - a row of the trail as a line for other programs.
 *
 *     jsonl   one object, all columns that say something, hashes in hex
 *     csv     RFC 4180, all columns, with a header line; lines end with CR LF
 *     ocsf    one OCSF 1.3 event; what OCSF has no name for is under "unmapped"
 *     ecs     one document of the Elastic Common Schema 8.11; all columns under "warded"
 *     cef     one line of ArcSight's Common Event Format, version 0
 *
 * Threads: any.  Owns: nothing.
 * Source:  docs/audit.md, "Exports"; schema.ocsf.io/1.3.0; the headers of the others. */
#ifndef WD_STORE_AUDIT_EXPORT_H
#define WD_STORE_AUDIT_EXPORT_H

#include "proto/c/buffer.h"
#include "store/audit.h"

typedef enum wd_export_format {
    WD_EXPORT_JSONL = 0, /* numbers are ExportRequest.Format's */
    WD_EXPORT_CSV = 1,
    WD_EXPORT_OCSF = 2,
    WD_EXPORT_ECS = 3,
    WD_EXPORT_CEF = 4,
} wd_export_format;

/* What a file begins with: the header line, or nothing. false: no memory. */
WD_MUST_USE bool wd_export_header(wd_export_format format, wd_buffer *out);

/* Appends one row's line, its end included. false: no memory. */
WD_MUST_USE bool wd_export_row(wd_export_format format, const wd_audit_row *row,
                               wd_buffer *out);

#endif
