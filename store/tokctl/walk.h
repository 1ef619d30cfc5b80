/* walk.h - the options of a verb, all of them, for completions and the man page.
 *
 * Threads: any; constant.  Owns: nothing. */
#ifndef WD_TOKCTL_WALK_H
#define WD_TOKCTL_WALK_H

#include "store/tokctl/tokctl.h"

/* Where an option stands in help. */
typedef enum wd_option_from {
    WD_OPTION_OWN,
    WD_OPTION_MORE,
    WD_OPTION_OUTPUT,
    WD_OPTION_WHERE,
} wd_option_from;

/* Calls for each option that is shown: the verb's own first, then those it shares; what
 * a verb does not know is left out. */
void wd_verb_options(const wd_verb *verb, void *arg,
                     void (*each)(void *arg, wd_option_from from,
                                  const struct argp_option *option));

/* Whether a shared option is one of this verb's: not every verb has --dry-run, --yes,
 * --db and --home. */
bool wd_verb_knows(const wd_verb *verb, const struct argp_option *option);

/* The short form's letter; 0: it has none. */
int wd_option_letter(const struct argp_option *option);

/* What its value is, for a shell: a file, a folder, one of some words, anything. */
const char *wd_option_words(const struct argp_option *option); /* "a b c", or NULL */
bool wd_option_is_path(const struct argp_option *option);

#endif
