/* tokctl version, help exit-codes - what the program says of itself. */
#include <stdio.h>

#include "store/tokctl/exits.h"
#include "store/tokctl/verbs.h"
#include "store/tokctl/views.h"

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
} arguments;

static const wd_column version_members[] = {
    {"tokctl", "version", WD_COLUMN_TEXT, false},
    {NULL, NULL, WD_COLUMN_TEXT, false},
};

static int run_version(wd_tokctl *ctl, int argc, char **argv)
{
    arguments args = {.ctl = ctl};
    wd_tokctl_parse(&wd_verb_version, argc, argv, &args);
    return wd_output_one(ctl, version_members,
                         json_pack("{s:s}", "version", WD_VERSION))
               ? WD_EXIT_OK
               : WD_EXIT_FAILED;
}

const wd_verb wd_verb_version = {
    .name = "version",
    .help = "of this program",
    .doc = "Print this program's version; that of a gate: tokctl health.",
    .flags = WD_VERB_ALONE,
    .run = run_version,
};

const wd_exit_text *wd_exit_at(size_t i)
{
    static const wd_exit_text texts[] = {
        {WD_EXIT_OK, "done"},
        {WD_EXIT_FAILED, "failed for another reason; or scan has found tokens"},
        {WD_EXIT_USAGE, "used wrongly, or a value that the gate does not take"},
        {WD_EXIT_NOT_FOUND, "there is no such token, row, method or file"},
        {WD_EXIT_DENIED, "not authenticated, or not allowed; or check said no"},
        {WD_EXIT_CONFLICT,
         "in use, or in another state than needed: a gate holds the store, an overlap "
         "is open, a file is there already"},
        {WD_EXIT_UNREACHABLE,
         "no gate was reached: network, TLS, a gate that the policy does not trust, no "
         "profile, no time left"},
        {WD_EXIT_INTEGRITY, "the record does not verify; the fault is named"},
        {WD_EXIT_PARTIAL, "some of many could not be done; each is named"},
        {WD_EXIT_INTERRUPTED, "interrupted; what was half made is gone"},
    };
    return i < sizeof(texts) / sizeof(texts[0]) ? &texts[i] : NULL;
}

static const wd_column exit_columns[] = {
    {"STATUS", "status", WD_COLUMN_TEXT, false},
    {"MEANING", "meaning", WD_COLUMN_LONG, false},
    {NULL, NULL, WD_COLUMN_TEXT, false},
};

static int run_exit_codes(wd_tokctl *ctl, int argc, char **argv)
{
    arguments args = {.ctl = ctl};
    wd_tokctl_parse(&wd_verb_exit_codes, argc, argv, &args);
    WD_AUTO(wd_output) *out = wd_output_new(ctl, exit_columns);
    if (out == NULL)
        return WD_EXIT_FAILED;
    for (size_t i = 0; wd_exit_at(i) != NULL; i++)
        wd_output_add(out, json_pack("{s:i, s:s}", "status", (int)wd_exit_at(i)->status,
                                     "meaning", wd_exit_at(i)->text));
    return wd_output_end(out) ? WD_EXIT_OK : WD_EXIT_FAILED;
}

const wd_verb wd_verb_exit_codes = {
    .group = "help",
    .name = "exit-codes",
    .help = "what each exit status means",
    .doc = "List the exit statuses. They are stable: scripts may branch on them.",
    .flags = WD_VERB_ALONE,
    .run = run_exit_codes,
};
