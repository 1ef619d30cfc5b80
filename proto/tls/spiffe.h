/* spiffe.h - the one form of name that Warded's certificates bear.
 *
 *     spiffe://<domain>/ns/<ns>/owner/<owner>[/pool/<pool>]/gate/<id>
 *     spiffe://<domain>/ns/<ns>/owner/<owner>/client/<name>
 *
 * A segment is [a-z0-9][a-z0-9._-]{0,62}; the domain likewise, up to 253 characters.
 *
 * Threads: any.  Owns: nothing; a wd_spiffe is a value.
 * Source:  SPIFFE-ID.md sections 2.1-2.3, narrowed. */
#ifndef WD_SPIFFE_H
#define WD_SPIFFE_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/c/status.h"

#define WD_SPIFFE_SEGMENT_BYTES 64  /* 63 and a NUL */
#define WD_SPIFFE_DOMAIN_BYTES  254 /* 253 and a NUL */

typedef enum wd_spiffe_kind { WD_SPIFFE_GATE = 1, WD_SPIFFE_CLIENT = 2 } wd_spiffe_kind;

typedef struct wd_spiffe {
    wd_spiffe_kind kind;
    char domain[WD_SPIFFE_DOMAIN_BYTES];
    char ns[WD_SPIFFE_SEGMENT_BYTES];
    char owner[WD_SPIFFE_SEGMENT_BYTES];
    char pool[WD_SPIFFE_SEGMENT_BYTES]; /* "" where there is none, and for clients */
    char name[WD_SPIFFE_SEGMENT_BYTES]; /* the gate's id or the client's name */
} wd_spiffe;

/* Read `size` bytes of text (no NUL needed).
 * Errors: INVALID_ARGUMENT naming the part that is wrong. */
WD_MUST_USE wd_status wd_spiffe_parse(const char *text, size_t size, wd_spiffe *ret,
                                      wd_error *err);

/* Does `text` stand as one segment (a namespace, owner, pool, gate id, client name)? */
bool wd_spiffe_segment_ok(const char *text);

#endif
