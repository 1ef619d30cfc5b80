/* audit_ecs.h - a row as a document of the Elastic Common Schema, 8.11.
 *
 *     auth                        authentication: start
 *     conn, tls.reject            network: connection, denied
 *     authz.deny                  api: access, denied
 *     token.*, cert.*             iam: creation, change or deletion
 *     token.*_reuse*, sandbox.*   intrusion_detection: info
 *     call.*                      api: start, end, info
 *     audit.*                     database: access, or change
 *     config.reload, gate.*, session.*, clock.jump: configuration, process, session, host
 *     all others                  api: info
 *
 * Threads: any.  Owns: nothing.
 * Source:  ECS 8.11, field reference and categorization fields; docs/audit.md, "Exports".
 *          Internal to store/. */
#ifndef WD_STORE_AUDIT_ECS_H
#define WD_STORE_AUDIT_ECS_H

#include <jansson.h>

#include "store/audit.h"

/* The document; `all` (*taken*) are the row's columns, which go under "warded". NULL: no
 * memory, or `all` is NULL. */
json_t *wd_ecs_document(const wd_audit_row *row, json_t *all);

#endif
