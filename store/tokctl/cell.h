/* cell.h - one member of a record as text.
 *
 * Private to output.c and its forms.  Threads: any; pure.  Owns: nothing. */
#ifndef WD_TOKCTL_CELL_H
#define WD_TOKCTL_CELL_H

#include "store/tokctl/output.h"

/* The member "a.b" of a record; NULL: it has none. */
const json_t *wd_cell_member(const json_t *record, const char *path);

/* As a table shows it: short forms, escaped; "-" for nothing. From malloc; NULL without
 * memory. */
char *wd_cell_shown(const json_t *record, const wd_column *column);

/* The value as it is: text, number, true; lists with a space between, objects as JSON. */
char *wd_cell_plain(const json_t *value);

#endif
