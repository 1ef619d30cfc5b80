/* config_value.h - one cell of text into one member of a struct, checked by its key.
 *
 * Threads: any.  Owns: nothing; what it writes belongs to the struct. */
#ifndef WD_SERVER_CONFIG_VALUE_H
#define WD_SERVER_CONFIG_VALUE_H

#include "proto/c/status.h"
#include "server/config_keys.h"
#include "server/config_yaml.h"

/* A value as the file has it; both borrowed. */
typedef struct wd_written {
    const wd_cell *cell; /* empty: the key's default holds */
    const char *folder;  /* relative paths are put under it */
} wd_written;

/* Convert what is written and put it at key->offset of `object`. *ret_culprit is the
 * text that was refused, to find its line by.
 * Errors: INVALID_ARGUMENT "KEY: VALUE: allowed: ..." without file and line */
WD_MUST_USE wd_status wd_value_set(const wd_key *key, const wd_written *written,
                                   void *object, const char **ret_culprit,
                                   wd_error *err);

/* Free the member of `key`. */
void wd_value_clear(const wd_key *key, void *object);

#endif
