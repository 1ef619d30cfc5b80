/* output.h - records to standard output: a table for people, other forms for programs.
 *
 * A record is a JSON object; a table shows some of its members as columns, escaped so
 * that no text in it can move the cursor or forge a line, cut to the terminal's width
 * where there is one (a very narrow one lacks the last columns), and the state of a thing
 * in colour unless NO_COLOR says no. JSON is an array, JSONL an object a line, CSV RFC
 * 4180 with the members' names for titles; all three keep values as they are.
 *
 * Threads: one.  Owns: the table in the making. */
#ifndef WD_TOKCTL_OUTPUT_H
#define WD_TOKCTL_OUTPUT_H

#include <jansson.h>

#include "proto/c/cleanup.h"
#include "store/tokctl/tokctl.h"

typedef enum wd_column_kind {
    WD_COLUMN_TEXT,   /* strings, arrays of strings, numbers */
    WD_COLUMN_TIME,   /* Unix milliseconds; 0 is shown as "-" */
    WD_COLUMN_SPAN,   /* milliseconds; 0 is shown as "-" */
    WD_COLUMN_COUNT,  /* 0 is shown as "-" */
    WD_COLUMN_WHO,    /* a SPIFFE id, from its owner on: "alice/client/trainer" */
    WD_COLUMN_METHOD, /* a method's path without its package: "Token/Issue" */
    WD_COLUMN_STATE,  /* a word that has a colour */
    WD_COLUMN_LONG,   /* text that a narrow terminal may cut */
} wd_column_kind;

typedef struct wd_column {
    const char *title;
    const char *member; /* "rate.calls" is a member of a member */
    wd_column_kind kind;
    bool wide; /* not in a table: -o wide and csv have it */
} wd_column;

typedef struct wd_output wd_output;

/* `columns` ends with an empty one and outlives the output; the first names a record for
 * -o name. NULL without memory. */
wd_output *wd_output_new(const wd_tokctl *ctl, const wd_column *columns);

/* Takes the record. NULL: out of memory; told by wd_output_end. */
void wd_output_add(wd_output *out, json_t *record);

/* Prints what is left; false when something could not be written, or no record had the
 * member of --field, which has been told. */
bool wd_output_end(wd_output *out);
void wd_output_free(wd_output *out);
WD_DEFINE_AUTO(wd_output, wd_output_free)

/* One record by itself: a line a member, or an object. Takes it. As wd_output_end. */
bool wd_output_one(const wd_tokctl *ctl, const wd_column *members, json_t *record);

/* A string for JSON: what is not UTF-8 becomes U+FFFD. NULL is "". */
json_t *wd_output_text(const char *text);

/* Control characters, line separators and marks that turn the writing direction become
 * \n, \t, \x1b, \u202e. From malloc; NULL without memory. */
char *wd_output_escape(const char *text);

#endif
