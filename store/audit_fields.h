/* audit_fields.h - the facts of a row by number, for what tells all of them by name, and
 * its event by kind.
 *
 * Threads: any; constant.  Owns: nothing.  Internal to store/. */
#ifndef WD_STORE_AUDIT_FIELDS_H
#define WD_STORE_AUDIT_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "store/audit.h"

typedef enum wd_field_kind {
    WD_FIELD_TEXT,
    WD_FIELD_INT64,
    WD_FIELD_UINT64,
    WD_FIELD_UINT32,
    WD_FIELD_HASH,
} wd_field_kind;

typedef struct wd_audit_field {
    const char *name;
    size_t offset; /* in wd_audit_row */
    wd_field_kind kind;
} wd_audit_field;

#define WD_AUDIT_FIELDS 31U
#define WD_FIELD_HEX    (2 * WD_AUDIT_HASH_BYTES + 1)

/* In the order of AuditRow in audit.proto, and by its names. */
extern const wd_audit_field wd_audit_fields[WD_AUDIT_FIELDS];

/* For tables of events, of which the first entry that fits counts: an event fits by its
 * whole name, or by what it begins with where the entry ends with a "."; "" fits all. */
bool wd_audit_event_fits(const char *entry, const char *event);

/* Of a TEXT; never NULL. Of a number. Of a HASH, in hex. */
const char *wd_field_text(const wd_audit_row *row, const wd_audit_field *field);
int64_t wd_field_number(const wd_audit_row *row, const wd_audit_field *field);
void wd_field_hex(const wd_audit_row *row, const wd_audit_field *field,
                  char ret_text[WD_FIELD_HEX]);

#endif
