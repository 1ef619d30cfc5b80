/* redact.h - text from outside, without the secrets that it may hold.
 *
 * A token (64 characters, docs/protocol.md section 6) keeps what may be told, its kind and
 * its id. A named secret is a word that ends with one of the list, in either case, and has
 * ":" or "=" behind it: what comes then, up to the end of its quotes, or of the line, is
 * taken out. It takes out too much rather than too little: "token = read()" goes too.
 * Characters that are escaped, \u0061, \x61 or %61, count as what they mean; what is put
 * together only when it runs, "wdt" + "1_...", is not known for what it is.
 *
 * Threads: any; pure.  Owns: nothing.
 * Source:  docs/audit.md, "Levels". */
#ifndef WD_SERVER_REDACT_H
#define WD_SERVER_REDACT_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/c/buffer.h"

#define WD_REDACTED "[redacted]"

/* Words: audit.redact. */
typedef struct wd_secret_names {
    char *const *list;
    size_t n;
} wd_secret_names;

/* Does the word end with one of the names, in either case? */
bool wd_secret_named(const wd_secret_names *names, wd_span word);

/* Appends `text` without its secrets. false: no memory. */
WD_MUST_USE bool wd_redact(wd_span text, const wd_secret_names *names, wd_buffer *out);

#endif
