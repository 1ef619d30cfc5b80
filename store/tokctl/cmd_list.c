/* tokctl list - all tokens, a line each; never their secrets. */
#include <string.h>

#include "store/tokctl/tokctl.h"
#include "store/tokctl/views.h"

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    const char *owner;
    const char *state;
    int64_t now_ms;
    wd_output *out;
} arguments;

static const struct argp_option options[] = {
    {"owner", 'O', "NAME", 0, "Only this owner's", 0},
    {"state", 'S', "STATE", 0, "Only active, not_yet, expired or revoked ones", 0},
    {0},
};

static const char doc[] =
    "List tokens, oldest first. Secrets are not shown: nobody has "
    "them but those they were told.\v"
    "  tokctl list --state active\n"
    "  tokctl list -o jsonl | jq -r 'select(.owner == \"ann\") | .id'";

static bool is_state(const char *name)
{
    for (int state = WD_TOKEN_ACTIVE; state <= WD_TOKEN_SPENT; state++) {
        if (strcmp(wd_token_state_name((wd_token_state)state), name) == 0)
            return true;
    }
    return false;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->ctl;
        return 0;
    case 'O':
        args->owner = value;
        return 0;
    case 'S':
        if (!is_state(value))
            wd_tokctl_misuse(state, "--state %s: active, not_yet, expired or revoked",
                             value);
        args->state = value;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool add(void *arg, const wd_token *token)
{
    const arguments *args = arg;
    const char *state = wd_token_state_name(wd_token_state_at(token, args->now_ms));
    if ((args->owner == NULL || strcmp(args->owner, token->owner) == 0) &&
        (args->state == NULL || strcmp(args->state, state) == 0))
        wd_output_add(args->out, wd_token_view(token, args->now_ms));
    return true;
}

int wd_tokctl_list(wd_tokctl *ctl, int argc, char **argv)
{
    const wd_tokctl_args shape = {options, parse, NULL, doc, NULL};
    arguments args = {.ctl = ctl};
    wd_error err = {0};
    wd_tokctl_parse(&shape, argc, argv, &args);
    WD_AUTO(wd_reader) *reader = NULL;
    if (wd_tokctl_read(ctl, &reader, &err) != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    WD_AUTO(wd_output) *out = wd_output_new(ctl->format, wd_token_columns);
    if (out == NULL)
        return WD_EXIT_FAILED;
    args.now_ms = wd_tokctl_now(reader);
    args.out = out;
    if (wd_tokens_list(reader, add, &args, &err) != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    return wd_output_end(out) ? WD_EXIT_OK : WD_EXIT_FAILED;
}
