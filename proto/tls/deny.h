/* deny.h - certificates and names that are refused although the CA vouches for them.
 *
 * A line each: `serial <hex>` or `spiffe://<prefix>`; '#' begins a comment. A prefix
 * matches whole segments: spiffe://d/ns/a denies spiffe://d/ns/a/owner/b/client/c, not
 * spiffe://d/ns/ab/... A line that could deny nobody is refused.
 *
 * Threads: any, after parsing.  Owns: its copies. */
#ifndef WD_TLS_DENY_H
#define WD_TLS_DENY_H

#include <stdbool.h>

#include "proto/c/cleanup.h"
#include "proto/c/status.h"
#include "proto/tls/identity.h"

typedef struct wd_deny_list wd_deny_list;

/* `text` ends in a NUL; NULL makes an empty list.
 * Errors: INVALID_ARGUMENT with the number of the line. */
WD_MUST_USE wd_status wd_deny_list_parse(const char *text, wd_deny_list **ret,
                                         wd_error *err);
void wd_deny_list_free(wd_deny_list *list);
WD_DEFINE_AUTO(wd_deny_list, wd_deny_list_free)

bool wd_deny_list_has(const wd_deny_list *list, const wd_identity *peer);

#endif
