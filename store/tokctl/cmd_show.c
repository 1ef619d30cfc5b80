/* tokctl show - everything about one token. */
#include "store/tokctl/tokctl.h"
#include "store/tokctl/views.h"

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    const char *id;
} arguments;

static const char doc[] =
    "Show one token by its id: the ten characters after wdt1_ or "
    "wda1_, as 'tokctl list' prints them. Never give a whole token "
    "as an argument: others on this host could read it.\v"
    "Exit status 3: there is no such token.";

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->ctl;
        return 0;
    case ARGP_KEY_ARG:
        if (args->id != NULL || !wd_token_id_valid(value))
            wd_tokctl_misuse(state, "one ID, ten letters and digits");
        args->id = value;
        return 0;
    case ARGP_KEY_NO_ARGS:
        wd_tokctl_misuse(state, "an ID is missing");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int wd_tokctl_show(wd_tokctl *ctl, int argc, char **argv)
{
    const wd_tokctl_args shape = {NULL, parse, "ID", doc, NULL};
    arguments args = {.ctl = ctl};
    wd_error err = {0};
    wd_tokctl_parse(&shape, argc, argv, &args);
    WD_AUTO(wd_reader) *reader = NULL;
    WD_AUTO(wd_token) *token = NULL;
    if (wd_tokctl_read(ctl, &reader, &err) != WD_OK ||
        wd_tokens_find(reader, args.id, &token, &err) != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    json_t *view = wd_token_view(token, wd_tokctl_now(reader));
    return wd_output_one(ctl->format, wd_token_members, view) ? WD_EXIT_OK
                                                              : WD_EXIT_FAILED;
}
