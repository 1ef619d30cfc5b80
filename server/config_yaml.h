/* config_yaml.h - the one door to libcyaml: a YAML file as text cells, one a key.
 *
 * libcyaml checks structure and keys against a schema made from the table of keys; it
 * takes "maybe" for false and -1 for 2^64-1, so every scalar is read as text and
 * config.c converts it. Of a value that config.c refuses, wd_yaml_line finds the line.
 *
 * Threads: one at a time.  Owns: its cells.  Source: cyaml.h of libcyaml 1.4. */
#ifndef WD_SERVER_CONFIG_YAML_H
#define WD_SERVER_CONFIG_YAML_H

#include "proto/c/cleanup.h"
#include "proto/c/status.h"

#include <stddef.h>
#include <stdint.h>

/* A key's value as written; all NULL when the key is absent. */
typedef struct wd_cell {
    char *text;   /* of a scalar */
    char **items; /* of a list of scalars */
    uint32_t n_items;
} wd_cell;

typedef struct wd_yaml wd_yaml;

/* Parse `text` of `size` bytes, at most 1 MiB, borrowed until wd_yaml_free.
 * Errors: INVALID_ARGUMENT "LINE: KEY: why" (no file name) */
WD_MUST_USE wd_status wd_yaml_load(const char *text, size_t size, wd_yaml **ret_yaml,
                                   wd_error *err);
void wd_yaml_free(wd_yaml *yaml);
WD_DEFINE_AUTO(wd_yaml, wd_yaml_free)

/* The cell of the key with index `key` in wd_config_keys. */
const wd_cell *wd_yaml_cell(const wd_yaml *yaml, size_t key);

/* Entries of `tools`, and the cell of a tools[] key in entry `tool`. A file that does
 * not have the key `tools` at all has_tools 0. */
int wd_yaml_has_tools(const wd_yaml *yaml);
size_t wd_yaml_tools(const wd_yaml *yaml);
const wd_cell *wd_yaml_tool_cell(const wd_yaml *yaml, size_t tool, size_t key);

/* Line of the file, from 1, that holds `value` (a cell's text or item); 0 if unknown. */
size_t wd_yaml_line(const wd_yaml *yaml, const char *value);

#endif
