/* export_fixture.h - a row as one line of an export.
 *
 * Threads: the test's.  Owns: nothing. */
#ifndef WD_TESTS_EXPORT_FIXTURE_H
#define WD_TESTS_EXPORT_FIXTURE_H

#include "proto/c/buffer.h"
#include "store/audit_export.h"

/* The row as text, in *out, which it clears first: one line, with its end. */
const char *wd_export_line(wd_export_format format, const wd_audit_row *row,
                           wd_buffer *out);

#endif
