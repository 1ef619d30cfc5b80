/* scope.h - what a token allows: "area:object", read, compared and covered.
 *
 * Threads: any; pure.
 * Source:  the rules in proto/warded/v1/options.proto. An area is [a-z][a-z0-9_-]*. An
 *          object is one or more segments parted by '/', each [A-Za-z0-9._-]+ or `*`,
 *          which stands for any one; the last may be `**`, for one or more. */
#ifndef WD_STORE_SCOPE_H
#define WD_STORE_SCOPE_H

#include <stdbool.h>
#include <stddef.h>

#define WD_SCOPE_BYTES  128U /* longest scope, characters */
#define WD_SCOPES_COUNT 64U  /* most scopes of one token */

/* True when `scope` is well formed. NULL is not. */
bool wd_scope_valid(const char *scope);

/* True when everything that `asked` allows, `held` allows too. Both may hold globs:
 * "observe:*" covers "observe:sql" and "observe:*", but neither "observe:**" nor
 * "observe:a/b". A malformed scope covers nothing and is covered by nothing. */
bool wd_scope_covers(const char *held, const char *asked);

/* True when `held` is of `area` ("observe"), whatever its object. */
bool wd_scope_of_area(const char *held, const char *area);

/* The same over the `n` scopes of a token: does any of them? */
bool wd_scopes_cover(const char *const *held, size_t n, const char *asked);
bool wd_scopes_of_area(const char *const *held, size_t n, const char *area);

/* The first of `asked` that `held` does not cover, or NULL: nobody issues what they do
 * not hold. */
const char *wd_scopes_missing(const char *const *held, size_t n_held,
                              const char *const *asked, size_t n_asked);

#endif
