/* audit_ocsf.h - a row as an event of the Open Cybersecurity Schema Framework, 1.3.
 *
 *     auth, tls.reject, conn    3002 Authentication
 *     token.*, cert.*           3004 Entity Management
 *     all others                6003 API Activity
 *
 * Threads: any.  Owns: nothing.
 * Source:  schema.ocsf.io/1.3.0; docs/audit.md, "Exports". Internal to store/. */
#ifndef WD_STORE_AUDIT_OCSF_H
#define WD_STORE_AUDIT_OCSF_H

#include <jansson.h>

#include "store/audit.h"

/* The event; `all` (*taken*) are the row's columns, which go under "unmapped". NULL: no
 * memory, or `all` is NULL. */
json_t *wd_ocsf_event(const wd_audit_row *row, json_t *all);

#endif
