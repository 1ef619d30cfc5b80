/* tokctl.h - the verbs of `tokctl`, one file each, and what they share.
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
#include "store/reader.h"
#include "store/store.h"

/* Stable; scripts branch on them. */
typedef enum wd_tokctl_exit {
    WD_EXIT_OK = 0,
    WD_EXIT_FAILED = 1,
    WD_EXIT_USAGE = 2,
    WD_EXIT_NOT_FOUND = 3,
    WD_EXIT_DENIED = 4,
    WD_EXIT_CONFLICT = 5, /* the gate holds the store, or another state is in the way */
    WD_EXIT_UNREACHABLE = 6,
    WD_EXIT_INTEGRITY = 7,
} wd_tokctl_exit;

typedef enum wd_format { WD_FORMAT_TABLE, WD_FORMAT_JSON, WD_FORMAT_JSONL } wd_format;

/* What every verb understands. */
typedef struct wd_tokctl {
    const char *verb; /* "tokctl audit verify": for messages */
    const char *db;   /* NULL: by home, else the system's place */
    const char *home; /* NULL: none */
    wd_format format;
    char dir[PATH_MAX]; /* the store's folder, set by wd_tokctl_parse */
} wd_tokctl;

/* argv[0] is the verb with what stands before it. Returns the exit status. */
typedef int wd_tokctl_run(wd_tokctl *ctl, int argc, char **argv);

wd_tokctl_run wd_tokctl_issue;
wd_tokctl_run wd_tokctl_list;
wd_tokctl_run wd_tokctl_show;
wd_tokctl_run wd_tokctl_revoke;
wd_tokctl_run wd_tokctl_audit_query;
wd_tokctl_run wd_tokctl_audit_tail;
wd_tokctl_run wd_tokctl_audit_verify;

/* --db, --home, -o: a child of every verb's argp. Its input is the wd_tokctl. */
extern const struct argp wd_tokctl_common;

/* A verb's options and arguments, the common ones among them. The first member of
 * `input` is the wd_tokctl *. What is wrong ends the program with exit status 2. */
typedef struct wd_tokctl_args {
    const struct argp_option *options;
    argp_parser_t parser;
    const char *args_doc;     /* "NAME" */
    const char *doc;          /* "What it does.\vExamples and exit codes." */
    const struct argp *child; /* further options, NULL for none: child_inputs[1] */
} wd_tokctl_args;
void wd_tokctl_parse(const wd_tokctl_args *args, int argc, char **argv, void *input);

/* A value that can't be taken: tells why and how, ends with exit status 2. The second
 * is for argp's parsers. */
_Noreturn void wd_tokctl_usage(const wd_tokctl *ctl, const wd_error *err);
_Noreturn void wd_tokctl_misuse(const struct argp_state *state, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Says on standard error what failed; returns the exit status that belongs to it. */
int wd_tokctl_fail(const wd_tokctl *ctl, const wd_error *err);

/* The store to change it: takes the lock. And to read it, also while a gate runs. */
WD_MUST_USE wd_status wd_tokctl_open(const wd_tokctl *ctl, wd_store **ret_store,
                                     wd_error *err);
WD_MUST_USE wd_status wd_tokctl_read(const wd_tokctl *ctl, wd_reader **ret_reader,
                                     wd_error *err);

/* The time that decides what has expired: the clock's, or the highest that was kept. */
int64_t wd_tokctl_now(const wd_reader *reader);

/* "local:<uid>": whom the record names for what is done here. */
void wd_tokctl_principal(char *ret_text, size_t size);

#endif
