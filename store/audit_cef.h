/* audit_cef.h - a row as a line of ArcSight's Common Event Format, version 0.
 *
 *     CEF:0|Warded|Warded|VERSION|EVENT|NAME|SEVERITY|KEY=VALUE KEY=VALUE ...
 *
 * Severity: 2, of what was refused or failed 5, of what looks like an attack 8. In the
 * header \ and | are escaped, in values \, =, CR and LF; what a terminal or a reader may
 * be fooled by is told as \\xNN or \\uNNNN. No text makes a line, a column or a key of its
 * own.
 *
 * Threads: any.  Owns: nothing.
 * Source:  "Implementing ArcSight Common Event Format", version 25, chapters 2 and 3;
 *          docs/audit.md, "Exports". Internal to store/. */
#ifndef WD_STORE_AUDIT_CEF_H
#define WD_STORE_AUDIT_CEF_H

#include "proto/c/buffer.h"
#include "store/audit.h"

/* Appends the line, its end included. false: no memory. */
WD_MUST_USE bool wd_cef_line(const wd_audit_row *row, wd_buffer *out);

#endif
