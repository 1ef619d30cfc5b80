/* config_value.h - one cell of text into one member of a struct, checked by its key.
 *
 * Threads: any.  Owns: nothing; what it writes belongs to the struct. */
#ifndef WD_SERVER_CONFIG_VALUE_H
#define WD_SERVER_CONFIG_VALUE_H

#include "proto/c/status.h"
#include "server/config_keys.h"
#include "server/config_yaml.h"

/* Convert `cell`, or the key's default when it is empty, and put it at key->offset of
 * `object`. Relative paths are put under `folder`. *ret_culprit is the text refused.
 * Errors: INVALID_ARGUMENT "KEY: VALUE: allowed: ..." without file and line */
WD_MUST_USE wd_status wd_value_set(const wd_key *key, const wd_cell *cell,
                                   const char *folder, void *object,
                                   const char **ret_culprit, wd_error *err);

/* Free the member of `key`. */
void wd_value_clear(const wd_key *key, void *object);

#endif
