/* config_keys.h - the table of every setting, from which all else about them is made.
 *
 * Threads: any.  Owns: nothing; the table is constant. */
#ifndef WD_SERVER_CONFIG_KEYS_H
#define WD_SERVER_CONFIG_KEYS_H

#include <stddef.h>
#include <stdint.h>

typedef enum wd_key_type {
    WD_KEY_TEXT,  /* char *; min and max are its length in bytes */
    WD_KEY_PATH,  /* char *; made absolute against the file's folder */
    WD_KEY_UINT,  /* uint64_t; decimal digits */
    WD_KEY_BOOL,  /* bool; true or false */
    WD_KEY_ENUM,  /* an enum whose values follow `choices` from 0 */
    WD_KEY_TEXTS, /* wd_text_list; min and max are its number of entries */
} wd_key_type;

/* One setting. A name with "[]." is a key of each entry of that list. */
typedef struct wd_key {
    const char *name;
    wd_key_type type;
    size_t offset;    /* into wd_config; of a tools[] key, into wd_tool_config */
    const char *unit; /* "" for none */
    uint64_t min;
    uint64_t max;
    const char *default_text; /* as in the file; of TEXTS, words; "" for empty or 0 */
    const char *choices;      /* of ENUM: "a|b" */
    const char *help;         /* one line */
} wd_key;

#define WD_KEY_TOOLS "tools[]."

/* The whole table, in the order of the file. */
const wd_key *wd_config_keys(size_t *ret_n_keys);

/* What a value of `key` may be, for people: "1 to 65536 (calls)", "text or json", ...
 * Written to `out` of `size` bytes, cut if need be. */
void wd_key_describe(const wd_key *key, char *out, size_t size);

#endif
