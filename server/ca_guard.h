/* ca_guard.h - nobody but root may have the CA's key: who has it makes identities.
 *
 * A start refuses by it, and `warded check` says the same of it.
 *
 * Threads: any.  Owns: nothing. */
#ifndef WD_SERVER_CA_GUARD_H
#define WD_SERVER_CA_GUARD_H

#include "proto/c/status.h"

/* Judge the folder of the CA and the key in it, by mode and owner: closed to group and
 * others, and root's or of the account that runs this. Neither need be there: a gate
 * runs without its CA.
 * Errors: PERMISSION_DENIED   others can reach it; names the path and the cure
 *         FAILED_PRECONDITION it is of the wrong kind, or can't be looked at */
WD_MUST_USE wd_status wd_ca_guard(const char *ca_dir, wd_error *err);

#endif
