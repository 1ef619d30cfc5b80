#include "store/tokctl/verbs.h"

/* The one table: help, completions and the man page are made from it. */
static const wd_verb *const verbs[] = {
    &wd_verb_issue,        &wd_verb_list,        &wd_verb_show,
    &wd_verb_check,        &wd_verb_renew,       &wd_verb_rotate,
    &wd_verb_retire,       &wd_verb_revoke,      &wd_verb_unwrap,
    &wd_verb_scan,         &wd_verb_audit_query, &wd_verb_audit_tail,
    &wd_verb_audit_show,   &wd_verb_audit_stats, &wd_verb_audit_verify,
    &wd_verb_audit_export, &wd_verb_audit_prune, &wd_verb_audit_checkpoint,
    &wd_verb_db_backup,    &wd_verb_whoami,      &wd_verb_health,
    &wd_verb_connections,  &wd_verb_call,        &wd_verb_describe,
    &wd_verb_completion,   &wd_verb_man,         &wd_verb_version,
    &wd_verb_exit_codes,
};

size_t wd_verb_count(void)
{
    return sizeof(verbs) / sizeof(verbs[0]);
}

const wd_verb *wd_verb_at(size_t i)
{
    return i < wd_verb_count() ? verbs[i] : NULL;
}
