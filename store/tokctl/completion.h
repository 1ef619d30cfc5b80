/* completion.h - what lets a shell complete tokctl, made from the table of verbs.
 *
 * The options that all verbs share may stand before the verb; which of the words is the
 * verb is therefore found by leaving out options and their values.
 *
 * Threads: one.  Owns: nothing. */
#ifndef WD_TOKCTL_COMPLETION_H
#define WD_TOKCTL_COMPLETION_H

#include "store/tokctl/walk.h"

/* The script, to standard output. */
void wd_complete_bash(void);
void wd_complete_zsh(void);
void wd_complete_fish(void);

/* --- for these three ------------------------------------------------------------------- */

/* Words of people inside a shell's single quotes; `also`, if not 0, and backslashes get
 * a backslash. */
void wd_complete_quoted(const char *text, char also);

/* The verb as it is typed, "audit query"; its other name follows `between`, if it has
 * one: 'list' | 'ls'. */
void wd_complete_name(const wd_verb *verb, const char *between);

/* The word of verb `i` behind its group, or, with NULL, in the first place: its name, or
 * its group's. NULL: it has none there, or a verb before it has the same. */
const char *wd_complete_word(size_t i, const char *group);

/* What that word is, for people. */
const char *wd_complete_help(size_t i, const char *group);

/* " query tail show" */
void wd_complete_words(const char *group);
void wd_complete_each_group(void (*each)(const char *group));

/* The options that may stand before a verb. */
void wd_complete_shared(void *arg, void (*each)(void *arg, wd_option_from from,
                                                const struct argp_option *option));

/* Whether the verb's arguments are files or folders. */
bool wd_complete_takes_path(const wd_verb *verb);

#endif
