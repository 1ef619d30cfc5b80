/* tokctl.h - the verbs of `tokctl`, one file each, and what they share.
 *
 * A verb is a row (wd_verb): its options and texts are data, from which help, the
 * completions of three shells and the man page are made. It reads arguments and prints;
 * who answers it, a gate over RPC or the store's own files, is store/tokctl/backend.h's.
 *
 * Threads: one.  Owns: nothing.
 * Source:  tokctl --help; POSIX XBD 12.2. Data goes to standard output, words for
 *          people to standard error; secrets are never arguments. */
#ifndef WD_TOKCTL_H
#define WD_TOKCTL_H

#include <argp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/c/status.h"
#include "warded/warded.h"

/* Stable; scripts branch on them. */
typedef enum wd_tokctl_exit {
    WD_EXIT_OK = 0,
    WD_EXIT_FAILED = 1,
    WD_EXIT_USAGE = 2,
    WD_EXIT_NOT_FOUND = 3,
    WD_EXIT_DENIED = 4,
    WD_EXIT_CONFLICT = 5, /* the gate holds the store, or another state is in the way */
    WD_EXIT_UNREACHABLE = 6, /* no gate, TLS, time */
    WD_EXIT_INTEGRITY = 7,   /* the record does not verify */
    WD_EXIT_PARTIAL = 8,     /* some of many: the others are named */
    WD_EXIT_INTERRUPTED = 130,
} wd_tokctl_exit;

typedef enum wd_format {
    WD_FORMAT_TABLE,
    WD_FORMAT_WIDE,
    WD_FORMAT_JSON,
    WD_FORMAT_JSONL,
    WD_FORMAT_CSV,
    WD_FORMAT_NAME,
} wd_format;

typedef struct wd_interrupt wd_interrupt;

/* What every verb understands. */
typedef struct wd_tokctl {
    const char *verb;               /* "tokctl audit verify": for messages */
    const char *db, *home;          /* NULL: not offline */
    wd_channel_options gate;        /* over RPC */
    bool gate_asked, offline_asked; /* by an option, not by the environment */
    const char *timeout;            /* as text; NULL: the default */
    uint64_t timeout_ms;
    wd_format format;
    const char *field; /* print this member alone; NULL: all */
    bool no_headers, quiet, yes, dry_run;
    char dir[PATH_MAX];  /* the store's folder, when offline */
    const char *exports; /* of pruned rows, when offline; NULL: in the store's folder */
    const char *ca; /* file that says who may sign checkpoints, when offline; NULL: the
                       gate's, where the store lies beside it */
    wd_interrupt *interrupt;
} wd_tokctl;

/* Messages lack const: a text of ours for one that is sent, and never written to. */
static inline char *wd_sent_text(const char *text)
{
    return (char *)(uintptr_t)text;
}

#define WD_VERB_OFFLINE 1U /* works on a store as well (--db) */
#define WD_VERB_ALONE   2U /* asks nobody: takes neither --db nor a gate */
#define WD_VERB_DRY_RUN 4U /* knows --dry-run */
#define WD_VERB_ASKS    8U /* may ask whether it shall go on: --yes */

typedef struct wd_verb {
    const char *group; /* NULL, or "audit" */
    const char *name;
    const char *alias; /* another name, not shown in tables; NULL: none */
    const char *help;  /* one line */
    const char *args;  /* "NAME"; NULL: none */
    const char *words; /* what its argument can be, for shells; NULL: anything */
    const char *doc;   /* "What it does.\vExamples and exit codes." */
    const struct argp_option *options;
    argp_parser_t parser;
    const struct argp *more; /* further options under a title of their own; or NULL */
    const char *more_title;
    size_t more_offset; /* where their input stands in the verb's */
    unsigned flags;
    /* argv[0] is the verb with what stands before it. Returns the exit status. */
    int (*run)(wd_tokctl *ctl, int argc, char **argv);
} wd_verb;

/* The table, in the order of help. */
const wd_verb *wd_verb_at(size_t i); /* NULL: past the end */
size_t wd_verb_count(void);

/* The verb's own options and arguments, the common ones among them. The first member of
 * `input` is the wd_tokctl *. What is wrong ends the program with exit status 2. */
void wd_tokctl_parse(const wd_verb *verb, int argc, char **argv, void *input);

/* Options that every verb has, and those of who answers: children of its argp, for help,
 * completions and man page. */
extern const struct argp wd_tokctl_output_argp;
extern const struct argp wd_tokctl_where_argp;

/* "json"; false: no format has this name. */
bool wd_tokctl_format(const char *text, wd_format *ret_format);

/* A value that can't be taken: tells why and how, ends with exit status 2. The second
 * is for argp's parsers. */
_Noreturn void wd_tokctl_usage(const wd_tokctl *ctl, const wd_error *err);
_Noreturn void wd_tokctl_misuse(const struct argp_state *state, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* A whole number of least..most; anything else ends the program with exit status 2. */
uint64_t wd_tokctl_number(struct argp_state *state, const char *option,
                          const char *text, uint64_t least, uint64_t most);

/* Says on standard error what failed, and what to do; returns the exit status. */
int wd_tokctl_fail(const wd_tokctl *ctl, const wd_error *err);

/* Whether to go on with what can't be undone: --yes, or an answer on the terminal.
 * Without either it says so and is false. */
bool wd_tokctl_confirm(const wd_tokctl *ctl, const char *question);

#endif
