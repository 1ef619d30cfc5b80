/* find.h - whole tokens in any text, by their form and their check digits.
 *
 * Threads: one owner at a time.  Owns: nothing; wipe what was found.
 * Source:  \bwd[tawj]1_[0-9A-Za-z]{59}\b, then the CRC: a typo is none. */
#ifndef WD_TOKCTL_FIND_H
#define WD_TOKCTL_FIND_H

#include "proto/c/span.h"
#include "store/token.h"

/* A stream that is searched piece by piece. Zero it to begin. */
typedef struct wd_finder {
    char kept[2 * WD_TOKEN_CHARS]; /* the end of the piece before this one */
    size_t n_kept;
    size_t line; /* newlines before `kept` */
    void *arg;
    /* A token, and the line that it stands on, from 1. false: enough. */
    bool (*found)(void *arg, const wd_token_text *token, size_t line);
} wd_finder;

/* The next piece. false: `found` has had enough. */
bool wd_finder_feed(wd_finder *finder, wd_span piece);

/* The text ends here: what was kept is looked at. Wipes the finder. */
bool wd_finder_end(wd_finder *finder);

#endif
