/* config_schema.h - libcyaml's schema, made from the table of keys. Private to
 * config_yaml.c.
 *
 * Threads: one at a time.  Owns: the schema's arrays and names. */
#ifndef WD_SERVER_CONFIG_SCHEMA_H
#define WD_SERVER_CONFIG_SCHEMA_H

#include <cyaml/cyaml.h>
#include <stddef.h>

#define WD_YAML_VALUE_BYTES  4096 /* longest scalar */
#define WD_YAML_LIST_ENTRIES 1024

/* The data that it loads is an array of wd_cell, one a key of the table; each entry of
 * `tools` is such an array too, and their list lies in the cell of the first tools[]
 * key. */
typedef struct wd_schema {
    cyaml_schema_value_t top;
    size_t n_keys;
    cyaml_schema_field_t *fields; /* the pool that mappings are made in */
    cyaml_schema_value_t *entries;
    size_t n_fields;
    size_t n_entries;
} wd_schema;

void wd_schema_init(wd_schema *schema);
void wd_schema_done(wd_schema *schema);

#endif
