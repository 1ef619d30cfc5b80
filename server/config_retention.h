/* config_retention.h - what the settings of retention must be to each other.
 *
 * Threads: any.  Owns: nothing. */
#ifndef WD_SERVER_CONFIG_RETENTION_H
#define WD_SERVER_CONFIG_RETENTION_H

#include "server/config_rules.h"

/* A rule of config_rules.c: 0 or enough, and a folder of its own for the exports. */
WD_MUST_USE wd_status wd_retention_check(wd_config *config,
                                         wd_rule_failure *ret_failure, wd_error *err);

/* Whether a path is a folder or lies in it, as they are written. */
bool wd_path_is_inside(const char *path, const char *folder);

#endif
