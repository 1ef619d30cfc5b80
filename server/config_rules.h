/* config_rules.h - what no single key can tell: settings that must fit each other.
 *
 * Threads: any.  Owns: nothing. */
#ifndef WD_SERVER_CONFIG_RULES_H
#define WD_SERVER_CONFIG_RULES_H

#include "server/config.h"

/* Which key a rule objects to, so that its line can be told. */
typedef struct wd_rule_failure {
    const char *key; /* a name in the table; NULL when no key is to blame */
    size_t index;    /* of the tool, or of the list's entry */
    size_t item;     /* of the entry of a tool's list */
} wd_rule_failure;

/* Fill in what is derived (host and port, paths with places as defaults, slots, tools'
 * limits) and check what depends on several keys.
 * Errors: INVALID_ARGUMENT "KEY: why; what is allowed" */
WD_MUST_USE wd_status wd_config_apply_rules(wd_config *config,
                                            wd_rule_failure *ret_failure,
                                            wd_error *err);

/* The tool of a configuration that names none: python_code. */
WD_MUST_USE wd_status wd_tool_default(wd_tool_config *tool, wd_error *err);

/* Split "tls+tcp://HOST:PORT"; *ret_host is the caller's, "*" means any address.
 * Errors: INVALID_ARGUMENT says what is allowed */
WD_MUST_USE wd_status wd_url_parse(const char *url, char **ret_host, uint16_t *ret_port,
                                   wd_error *err);

#endif
