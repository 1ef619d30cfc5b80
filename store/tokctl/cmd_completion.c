/* tokctl completion - for bash, zsh and fish, from the table of verbs. */
#include <stdio.h>
#include <string.h>

#include "store/tokctl/completion.h"
#include "store/tokctl/verbs.h"

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    const char *shell;
} arguments;

static const char doc[] =
    "Print what lets a shell complete tokctl's verbs and options.\v"
    "  tokctl completion bash >/etc/bash_completion.d/tokctl\n"
    "  tokctl completion zsh >\"${fpath[1]}/_tokctl\"\n"
    "  tokctl completion fish >~/.config/fish/completions/tokctl.fish";

/* NOLINTNEXTLINE(readability-non-const-parameter): argp's signature */
static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (args->shell != NULL)
            wd_tokctl_misuse(state, "one SHELL");
        args->shell = value;
        return 0;
    case ARGP_KEY_NO_ARGS:
        wd_tokctl_misuse(state, "bash, zsh or fish?");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int run(wd_tokctl *ctl, int argc, char **argv)
{
    static const struct {
        const char *shell;
        void (*print)(void);
    } shells[] = {{"bash", wd_complete_bash},
                  {"zsh", wd_complete_zsh},
                  {"fish", wd_complete_fish}};
    arguments args = {.ctl = ctl};
    wd_error err = {0};
    wd_tokctl_parse(&wd_verb_completion, argc, argv, &args);
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
        if (strcmp(shells[i].shell, args.shell) != 0)
            continue;
        shells[i].print();
        return fflush(stdout) == 0 ? WD_EXIT_OK : WD_EXIT_FAILED;
    }
    (void)wd_fail(&err, WD_INVALID_ARGUMENT, "%.40s: bash, zsh or fish", args.shell);
    wd_tokctl_usage(ctl, &err);
}

const wd_verb wd_verb_completion = {
    .name = "completion",
    .help = "for bash, zsh or fish",
    .args = "SHELL",
    .words = "bash zsh fish",
    .doc = doc,
    .parser = parse,
    .flags = WD_VERB_ALONE,
    .run = run,
};
