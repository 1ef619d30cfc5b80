/* views.h - the columns that tables show of a token, a row, an answer.
 *
 * Threads: any.  Owns: nothing.
 * Source:  member names are those of proto/warded/v1, as message_json.h writes them. */
#ifndef WD_TOKCTL_VIEWS_H
#define WD_TOKCTL_VIEWS_H

#include "store/tokctl/message_json.h"
#include "store/tokctl/output.h"

extern const wd_column wd_token_columns[]; /* a line a token */
extern const wd_column wd_token_members[]; /* all of one */
extern const wd_column wd_row_columns[];
extern const wd_column wd_row_members[];

/* A message as a record; NULL without memory. */
static inline json_t *wd_record(const ProtobufCMessage *message)
{
    return wd_message_json(message, WD_JSON_RECORD);
}

#endif
