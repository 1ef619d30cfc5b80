/* simple.h - verbs that make one call and print one record.
 *
 * Threads: one.  Owns: nothing. */
#ifndef WD_TOKCTL_SIMPLE_H
#define WD_TOKCTL_SIMPLE_H

#include <protobuf-c/protobuf-c.h>

#include "store/tokctl/verbs.h"
#include "store/tokctl/views.h"

typedef struct wd_simple {
    const char *path;
    const ProtobufCMessage *request;
    json_t *(*record)(const ProtobufCMessage *reply); /* NULL: the whole reply */
    const wd_column *members;
} wd_simple;

/* Returns the exit status. `ret_record`, which may be NULL, gets a reference on what was
 * printed: for verbs whose exit status it decides. */
int wd_simple_run(const wd_tokctl *ctl, const wd_simple *simple, json_t **ret_record);

/* An argument that is one token's id, for argp's parsers. */
void wd_simple_take_id(struct argp_state *state, char *value, char **place);

#endif
