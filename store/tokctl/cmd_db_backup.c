/* tokctl db backup - a copy of the store, while a gate may be running on it. */
#include <stdio.h>

#include "store/backup.h"
#include "store/tokctl/progress.h"
#include "store/tokctl/verbs.h"
#include "store/tokctl/views.h"

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    const char *to;
} arguments;

static const char doc[] =
    "Copy a store into a new folder: the state after one commit, while a gate may go "
    "on writing. The copy is a store itself.\v"
    "  tokctl --db /var/lib/warded/store db backup /backup/warded-$(date +%F)\n"
    "  tokctl --db /backup/warded-2026-11-30 audit verify\n\n"
    "Exit status 5: the folder is there already.";

static const wd_column members[] = {
    {"copy", "copy", WD_COLUMN_TEXT, false},
    {"pages", "pages", WD_COLUMN_TEXT, false},
    {NULL, NULL, WD_COLUMN_TEXT, false},
};

/* NOLINTNEXTLINE(readability-non-const-parameter): argp's signature */
static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (args->to != NULL)
            wd_tokctl_misuse(state, "one FOLDER");
        args->to = value;
        return 0;
    case ARGP_KEY_NO_ARGS:
        wd_tokctl_misuse(state, "a FOLDER is missing");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

typedef struct copying {
    wd_progress progress;
    uint64_t pages;
} copying;

static void copied(void *arg, uint64_t pages, uint64_t of)
{
    copying *c = arg;
    c->pages = pages;
    wd_progress_show(&c->progress, pages, of);
}

static int run(wd_tokctl *ctl, int argc, char **argv)
{
    arguments args = {.ctl = ctl};
    wd_error err = {0};
    wd_tokctl_parse(&wd_verb_db_backup, argc, argv, &args);
    if (ctl->dir[0] == '\0') {
        (void)wd_fail(&err, WD_INVALID_ARGUMENT,
                      "which store? --db DIR, or --home DIR: on the gate's own host");
        wd_tokctl_usage(ctl, &err);
    }
    copying c = {.progress = wd_progress_begin(ctl, "pages")};
    const wd_backup_progress progress = {&c, copied};
    wd_status status = wd_store_backup(ctl->dir, args.to, &progress, &err);
    wd_progress_end(&c.progress);
    if (status != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    return wd_output_one(ctl, members,
                         json_pack("{s:o, s:I}", "copy", wd_output_text(args.to),
                                   "pages", (json_int_t)c.pages))
               ? WD_EXIT_OK
               : WD_EXIT_FAILED;
}

const wd_verb wd_verb_db_backup = {
    .group = "db",
    .name = "backup",
    .help = "copy a store, also while a gate runs on it",
    .args = "FOLDER",
    .doc = doc,
    .parser = parse,
    .flags = WD_VERB_OFFLINE,
    .run = run,
};
