/* request_text.h - a request as JSON for the record: bounded, and without secrets.
 *
 * Of a message the fields that are set, by name. Text goes through server/redact.h; a field
 * whose name is a secret's is "[redacted]"; bytes are told by their number alone. What is
 * too large for a row is cut field by field: long texts first, then long lists.
 *
 * Threads: any.  Owns: nothing; the text lives in the budget.
 * Source:  docs/audit.md, "Levels". */
#ifndef WD_SERVER_REQUEST_TEXT_H
#define WD_SERVER_REQUEST_TEXT_H

#include "proto/c/alloc.h"
#include "proto/c/rule.h"
#include "server/redact.h"

#define WD_REQUEST_TEXT_BYTES 4096U /* of one row's detail */

#define WD_REQUEST_WHOLE UINT32_MAX

/* {"request":{...}} of a message, or of the element `item` of its repeated field "items"
 * where it has one. `opening`: what the object begins with, of at most 256 bytes:
 * "{", or "{\"rows\":1,". NULL: no memory, or the budget is spent. */
const char *wd_request_text(const char *opening, const ProtobufCMessage *message,
                            uint32_t item, const wd_secret_names *names,
                            wd_budget *budget);

#endif
