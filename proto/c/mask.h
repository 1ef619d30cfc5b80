/* mask.h - what others wrote, as errors may repeat it: never the secret of a token.
 *
 * A token is known by how it begins, in either case: "wdt1_", "wda1_", ... and more
 * behind it than its id of ten characters, which may be told. Whole or cut, from there on
 * it is taken out: "wdt1_..." with an ellipsis.
 *
 * Threads: any; pure.  Owns: nothing.
 * Source:  docs/protocol.md section 6. */
#ifndef WD_MASK_H
#define WD_MASK_H

#include <stddef.h>

#define WD_SHOWN_BYTES 41U /* of a word that is quoted, with its NUL */

/* How many characters of a token, whole or cut, begin at `text`; 0: none does. */
size_t wd_token_here(const char *text);

/* Takes tokens out of a text where it stands: it becomes no longer. */
void wd_mask_tokens(char *text);

/* The first 40 characters of a word, without tokens. Returns ret_text. */
const char *wd_shown(const char *text, char ret_text[WD_SHOWN_BYTES]);

#endif
