/* config_text.h - a text of warded.yaml, read as that of the home /srv/warded.
 *
 * Threads: any.  Owns: nothing; *ret_config is the caller's. */
#ifndef WD_TEST_CONFIG_TEXT_H
#define WD_TEST_CONFIG_TEXT_H

#include "server/config.h"

wd_status config_of(const char *text, wd_config **ret_config, wd_error *err);

#endif
