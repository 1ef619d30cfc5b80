/* port_try.h - whether an address can be listened on, found out by doing it for a moment.
 *
 * Threads: one; a name may have to be looked up.  Owns: nothing.
 * Source:  getaddrinfo(3), bind(2), listen(2). */
#ifndef WD_SERVER_PORT_TRY_H
#define WD_SERVER_PORT_TRY_H

#include "proto/c/status.h"

#include <stdint.h>

/* Listen on HOST ("*": every address) and give it back at once. Port 0: any that is free.
 * Errors: FAILED_PRECONDITION  says why and what to do; CONFLICT: another has it */
WD_MUST_USE wd_status wd_port_try(const char *host, uint16_t port, wd_error *err);

/* What to do where listening failed with `error`, an errno. */
const char *wd_port_cure(int error);

#endif
