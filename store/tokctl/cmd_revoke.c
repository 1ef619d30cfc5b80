/* tokctl revoke - tokens taken back, with the reason on record. */
#include <stdio.h>

#include "store/tokctl/tokctl.h"
#include "store/tokctl/views.h"
#include "store/token_table.h"

#define IDS_COUNT 1024U

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    const char *reason;
    const char *ids[IDS_COUNT];
    size_t n_ids;
} arguments;

static const struct argp_option options[] = {
    {"reason", 'r', "TEXT", 0, "Why, for the record", 0},
    {0},
};

static const char doc[] =
    "Revoke tokens by id. If one of the ids is unknown, none is revoked.\v"
    "  tokctl revoke 3fJq0sLw9A --reason 'laptop stolen'\n\n"
    "The gate must not be running on this store (exit status 5). With one running, a "
    "client whose token has the scope token:revoke calls its Token.Revoke, which holds "
    "at once: in Python, warded.v1.TokenStub(warded.connect()).Revoke(...). Exit "
    "status "
    "3: an id is unknown.";

static const wd_column columns[] = {
    {"ID", "id", WD_COLUMN_TEXT},
    {"WAS LIVE", "was_live", WD_COLUMN_TEXT},
    {NULL, NULL, WD_COLUMN_TEXT},
};

static void add_id(arguments *args, const char *id, struct argp_state *state)
{
    if (!wd_token_id_valid(id))
        wd_tokctl_misuse(state, "an ID has ten letters and digits");
    if (args->n_ids == IDS_COUNT)
        wd_tokctl_misuse(state, "more than %u IDs", IDS_COUNT);
    args->ids[args->n_ids++] = id;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->ctl;
        return 0;
    case 'r':
        args->reason = value;
        return 0;
    case ARGP_KEY_ARG:
        add_id(args, value, state);
        return 0;
    case ARGP_KEY_NO_ARGS:
        wd_tokctl_misuse(state, "an ID is missing");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static wd_status check_known(const arguments *args, wd_error *err)
{
    WD_AUTO(wd_reader) *reader = NULL;
    WD_TRY(wd_tokctl_read(args->ctl, &reader, err));
    for (size_t i = 0; i < args->n_ids; i++) {
        WD_AUTO(wd_token) *token = NULL;
        WD_TRY(wd_tokens_find(reader, args->ids[i], &token, err));
    }
    return WD_OK;
}

static wd_status revoke_all(const arguments *args, wd_store *store, wd_output *out,
                            wd_error *err)
{
    char principal[32];
    wd_tokctl_principal(principal, sizeof(principal));
    for (size_t i = 0; i < args->n_ids; i++) {
        wd_token_revocation revocation = {args->ids[i], args->reason, principal};
        bool was_live = false;
        WD_TRY(wd_tokens_revoke_now(store, &revocation, &was_live, err));
        wd_output_add(out, json_pack("{s:s, s:b}", "id", args->ids[i], "was_live",
                                     (int)was_live));
    }
    return WD_OK;
}

int wd_tokctl_revoke(wd_tokctl *ctl, int argc, char **argv)
{
    const wd_tokctl_args shape = {options, parse, "ID...", doc, NULL};
    arguments args = {.ctl = ctl};
    wd_error err = {0};
    wd_tokctl_parse(&shape, argc, argv, &args);
    WD_AUTO(wd_store) *store = NULL;
    WD_AUTO(wd_output) *out = wd_output_new(ctl->format, columns);
    if (out == NULL)
        return WD_EXIT_FAILED;
    if (wd_tokctl_open(ctl, &store, &err) != WD_OK || check_known(&args, &err) != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    wd_status status = revoke_all(&args, store, out, &err);
    bool printed = wd_output_end(out);
    if (status != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    return printed ? WD_EXIT_OK : WD_EXIT_FAILED;
}
