/* rotate_all.h - all active tokens of an owner, each into a file of its own.
 *
 * Threads: one.  Owns: nothing. */
#ifndef WD_TOKCTL_ROTATE_ALL_H
#define WD_TOKCTL_ROTATE_ALL_H

#include "store/tokctl/tokctl.h"
#include "warded/v1/token.pb-c.h"

/* `ask` says how each is rotated; its id is set here. The first refusal of one does not
 * end the others: exit status 8, each named. */
int wd_rotate_all(const wd_tokctl *ctl, const char *owner, const char *folder,
                  Warded__V1__RotateRequest *ask);

#endif
