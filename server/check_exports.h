/* check_exports.h - could the gate export what is to be pruned? A line of `warded check`.
 *
 * Threads: one (effective uid).  Owns: nothing.
 * Source:  docs/audit.md, "Retention". */
#ifndef WD_SERVER_CHECK_EXPORTS_H
#define WD_SERVER_CHECK_EXPORTS_H

#include "server/check.h"

/* Tries audit.export_dir as the gate's account does: its kind, its mode, and a file in it,
 * which is removed again; where it is not there, whether it can be made. A start needs
 * none of it, so what is wrong is a warning. */
void wd_check_exports(wd_check *check);

#endif
