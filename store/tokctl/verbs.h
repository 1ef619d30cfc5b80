/* verbs.h - the rows of the table, one a file.
 *
 * Threads: any; constant.  Owns: nothing. */
#ifndef WD_TOKCTL_VERBS_H
#define WD_TOKCTL_VERBS_H

#include "store/tokctl/tokctl.h"

extern const wd_verb wd_verb_issue, wd_verb_list, wd_verb_show, wd_verb_check,
    wd_verb_renew, wd_verb_rotate, wd_verb_retire, wd_verb_revoke, wd_verb_unwrap,
    wd_verb_scan, wd_verb_whoami, wd_verb_health, wd_verb_connections, wd_verb_call,
    wd_verb_describe;
extern const wd_verb wd_verb_audit_query, wd_verb_audit_tail, wd_verb_audit_show,
    wd_verb_audit_stats, wd_verb_audit_verify, wd_verb_audit_export,
    wd_verb_audit_prune, wd_verb_audit_checkpoint;
extern const wd_verb wd_verb_db_backup, wd_verb_completion, wd_verb_man,
    wd_verb_version, wd_verb_exit_codes;

#endif
