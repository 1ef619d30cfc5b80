/* pieces.h - what `warded init` makes, looked for before it makes anything.
 *
 * The configuration is written last. Without it the rest is what a killed init left, or
 * somebody's CA: never to be overwritten, but to be named.
 *
 * Threads: any.  Owns: nothing. */
#ifndef WD_SERVER_PIECES_H
#define WD_SERVER_PIECES_H

#include "proto/c/status.h"
#include "server/places.h"

/* WD_OK: none of it is there.
 * Errors: FAILED_PRECONDITION some is: CONFLICT, each path named */
WD_MUST_USE wd_status wd_pieces_refuse(const wd_places *places, wd_error *err);

#endif
