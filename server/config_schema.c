#include "server/config_schema.h"

#include "proto/c/status.h"
#include "server/config_keys.h"
#include "server/config_yaml.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cyaml_schema_value_t text_value(void)
{
    return (cyaml_schema_value_t){
        /* NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange): a set */
        CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, WD_YAML_VALUE_BYTES)};
}

static cyaml_schema_value_t list_value(wd_schema *y, cyaml_schema_value_t entry)
{
    cyaml_schema_value_t *kept = &y->entries[y->n_entries++];
    *kept = entry;
    return (cyaml_schema_value_t){
        .type = CYAML_SEQUENCE,
        /* NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange): a set */
        .flags = CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
        .data_size = kept->data_size,
        .sequence = {kept, 1, WD_YAML_LIST_ENTRIES}};
}

static cyaml_schema_field_t leaf_field(wd_schema *y, const wd_key *key, size_t index,
                                       const char *name)
{
    bool list = key->type == WD_KEY_TEXTS;
    size_t at = index * sizeof(wd_cell);
    cyaml_schema_field_t field = {.key = name};
    field.data_offset =
        (uint32_t)(at + (list ? offsetof(wd_cell, items) : offsetof(wd_cell, text)));
    field.count_offset = (uint32_t)(at + offsetof(wd_cell, n_items));
    field.count_size = sizeof(uint32_t);
    field.value = list ? list_value(y, text_value()) : text_value();
    if (list) /* pointers to text, not text */
        field.value.data_size = sizeof(char *);
    field.value.flags |= CYAML_FLAG_OPTIONAL;
    return field;
}

static const cyaml_schema_field_t *make_fields(wd_schema *y, const char *prefix);

/* A mapping whose cells lie in the same array as its parent's, hence offset 0. */
static cyaml_schema_value_t group_value(wd_schema *y, const char *prefix)
{
    return (cyaml_schema_value_t){.type = CYAML_MAPPING,
                                  .flags = CYAML_FLAG_OPTIONAL,
                                  .data_size = (uint32_t)(y->n_keys * sizeof(wd_cell)),
                                  .mapping = {make_fields(y, prefix)}};
}

/* The cell of a list of mappings is that of its first key. */
static cyaml_schema_field_t group_field(wd_schema *y, size_t index, char *name,
                                        const char *prefix)
{
    cyaml_schema_field_t field = {.value = group_value(y, prefix)};
    char *brackets = strstr(name, "[]");
    if (brackets != NULL) {
        *brackets = '\0';
        size_t at = index * sizeof(wd_cell);
        field.data_offset = (uint32_t)(at + offsetof(wd_cell, items));
        field.count_offset = (uint32_t)(at + offsetof(wd_cell, n_items));
        field.count_size = sizeof(uint32_t);
        field.value = list_value(y, field.value);
    }
    field.key = name;
    return field;
}

static bool is_direct(const char *name, const char *prefix, const char **ret_rest)
{
    size_t n = strlen(prefix);
    *ret_rest = name + n;
    return strncmp(name, prefix, n) == 0;
}

/* Fields of the keys that start with `prefix`: leaves, and one for each next group. */
static const cyaml_schema_field_t *make_fields(wd_schema *y, const char *prefix)
{
    size_t n_keys = 0;
    const wd_key *keys = wd_config_keys(&n_keys);
    cyaml_schema_field_t local[32] = {{0}};
    size_t n_local = 0;
    char group[64] = "";
    for (size_t i = 0; i < n_keys; i++) {
        const char *rest = NULL;
        if (!is_direct(keys[i].name, prefix, &rest))
            continue;
        const char *dot = strchr(rest, '.');
        WD_ASSERT(n_local < 31);
        if (dot == NULL) {
            local[n_local++] = leaf_field(y, &keys[i], i, rest);
            continue;
        }
        size_t length = (size_t)(dot + 1 - keys[i].name);
        if (strncmp(group, keys[i].name, length) == 0 && group[length] == '\0')
            continue; /* this group has its field */
        (void)snprintf(group, sizeof(group), "%.*s", (int)length, keys[i].name);
        char *name = strndup(rest, (size_t)(dot - rest));
        WD_ASSERT(name != NULL);
        local[n_local++] = group_field(y, i, name, group);
    }
    cyaml_schema_field_t *kept = &y->fields[y->n_fields];
    memcpy(kept, local, (n_local + 1) * sizeof(local[0]));
    y->n_fields += n_local + 1;
    return kept;
}

void wd_schema_init(wd_schema *schema)
{
    memset(schema, 0, sizeof(*schema));
    (void)wd_config_keys(&schema->n_keys);
    schema->fields = calloc(schema->n_keys * 3, sizeof(*schema->fields));
    schema->entries = calloc(schema->n_keys, sizeof(*schema->entries));
    WD_ASSERT(schema->fields != NULL && schema->entries != NULL);
    schema->top = group_value(schema, "");
    schema->top.flags = CYAML_FLAG_POINTER;
}

static void free_names(cyaml_schema_field_t *fields, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const cyaml_schema_value_t *v = &fields[i].value;
        bool group = v->type == CYAML_MAPPING ||
                     (v->type == CYAML_SEQUENCE && v->sequence.entry != NULL &&
                      v->sequence.entry->type == CYAML_MAPPING);
        if (group) {
            char *name = NULL;
            memcpy(&name, &fields[i].key, sizeof(name));
            free(name);
        }
    }
}

void wd_schema_done(wd_schema *schema)
{
    free_names(schema->fields, schema->n_fields);
    free(schema->fields);
    free(schema->entries);
}
