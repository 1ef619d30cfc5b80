/* tokctl show - everything about one token, its generations and its children. */
#include <stdio.h>
#include <string.h>

#include "proto/c/sha256.h"
#include "store/tokctl/backend.h"
#include "store/tokctl/secret.h"
#include "store/tokctl/verbs.h"
#include "store/tokctl/views.h"
#include "warded/v1/token.pb-c.h"

enum option_key { OPTION_SELF = 256, OPTION_TREE, OPTION_GENERATIONS };

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    Warded__V1__ShowRequest ask;
    bool self, generations;
    char id[WD_TOKEN_ID_CHARS + 1];
} arguments;

static const struct argp_option options[] = {
    {"self", OPTION_SELF, NULL, 0, "Our own token", 0},
    {"tree", OPTION_TREE, NULL, 0, "A line for each that was issued with it", 0},
    {"usage", OPTION_GENERATIONS, NULL, 0,
     "A line for each generation of its family: who still uses the old secret?", 0},
    {0},
};

static const char doc[] =
    "Show one token by its id: the ten characters after wdt1_ or wda1_, as 'tokctl "
    "list' prints them; '-' reads a whole token from standard input and takes its id. "
    "Never give a whole token as an argument: others on this host could read it.\v"
    "  tokctl show 3fJq0sLw9A\n"
    "  tokctl show --usage 3fJq0sLw9A      # after rotate: was the old one used "
    "since?\n\n"
    "Exit status 3: there is no such token.";

static const wd_column tree_columns[] = {
    {"ID", "id", WD_COLUMN_TEXT, false},
    {"DEPTH", "depth", WD_COLUMN_TEXT, false},
    {"NAME", "name", WD_COLUMN_TEXT, false},
    {"OWNER", "owner", WD_COLUMN_TEXT, false},
    {"STATE", "state", WD_COLUMN_STATE, false},
    {"SCOPES", "scopes", WD_COLUMN_LONG, false},
    {"EXPIRES", "expires_ms", WD_COLUMN_TIME, false},
    {"LAST USED", "last_used_ms", WD_COLUMN_TIME, false},
    {NULL, NULL, WD_COLUMN_TEXT, false},
};

static const wd_column usage_columns[] = {
    {"ID", "id", WD_COLUMN_TEXT, false},
    {"GEN", "generation", WD_COLUMN_TEXT, false},
    {"STATE", "state", WD_COLUMN_STATE, false},
    {"RETIRES", "retires_ms", WD_COLUMN_TIME, false},
    {"LAST USED", "last_used_ms", WD_COLUMN_TIME, false},
    {"LAST PEER", "last_peer", WD_COLUMN_WHO, false},
    {"ADDRESS", "last_address", WD_COLUMN_TEXT, false},
    {NULL, NULL, WD_COLUMN_TEXT, false},
};

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case OPTION_SELF:
        args->self = true;
        return 0;
    case OPTION_TREE:
        args->ask.tree = true;
        return 0;
    case OPTION_GENERATIONS:
        args->generations = true;
        return 0;
    case ARGP_KEY_ARG:
        if (args->ask.id[0] != '\0' ||
            (!wd_token_id_valid(value) && strcmp(value, "-") != 0))
            wd_tokctl_misuse(state, "one ID, ten letters and digits");
        args->ask.id = value;
        return 0;
    case ARGP_KEY_END:
        if ((args->ask.id[0] == '\0') != args->self)
            wd_tokctl_misuse(state, "an ID is missing, or --self, or '-'; one of them");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* "-": the id of a secret that comes on standard input. */
static wd_status settle(arguments *args, wd_error *err)
{
    wd_token_text text;
    if (strcmp(args->ask.id, "-") != 0)
        return WD_OK;
    WD_TRY(wd_secret_read("-", &text, err));
    wd_token_name name = {.id = ""};
    (void)wd_token_parse(text.chars, &name);
    wd_token_text_wipe(&text);
    memcpy(args->id, name.id, sizeof(args->id));
    args->ask.id = args->id;
    return WD_OK;
}

static bool print_tree(const wd_tokctl *ctl, const Warded__V1__ShowReply *reply)
{
    WD_AUTO(wd_output) *out = wd_output_new(ctl, tree_columns);
    if (out == NULL)
        return false;
    for (size_t i = 0; i < reply->n_tree; i++) {
        json_t *record = wd_record(&reply->tree[i]->info->base);
        if (record != NULL)
            (void)json_object_set_new(record, "depth",
                                      json_integer(reply->tree[i]->depth));
        wd_output_add(out, record);
    }
    if (reply->tree_cut && !ctl->quiet)
        (void)fprintf(stderr, "there are more than these\n");
    return wd_output_end(out);
}

static bool print_usage(const wd_tokctl *ctl, const Warded__V1__ShowReply *reply)
{
    WD_AUTO(wd_output) *out = wd_output_new(ctl, usage_columns);
    if (out == NULL)
        return false;
    for (size_t i = 0; i < reply->n_generations; i++)
        wd_output_add(out, wd_record(&reply->generations[i]->base));
    return wd_output_end(out);
}

static bool print(const arguments *args, const Warded__V1__ShowReply *reply)
{
    if (args->ask.tree)
        return print_tree(args->ctl, reply);
    if (args->generations)
        return print_usage(args->ctl, reply);
    return wd_output_one(args->ctl, wd_token_members,
                         reply->info != NULL ? wd_record(&reply->info->base) : NULL);
}

static int run(wd_tokctl *ctl, int argc, char **argv)
{
    arguments args = {.ctl = ctl};
    wd_error err = {0};
    const ProtobufCMessage *reply = NULL;
    WD_AUTO(wd_backend) *backend = NULL;
    warded__v1__show_request__init(&args.ask);
    wd_tokctl_parse(&wd_verb_show, argc, argv, &args);
    if (settle(&args, &err) != WD_OK || wd_backend_open(ctl, &backend, &err) != WD_OK ||
        wd_backend_call(backend, WD_TOKEN_METHOD(Show), &args.ask.base, &reply, &err) !=
            WD_OK)
        return wd_tokctl_fail(ctl, &err);
    return print(&args, (const Warded__V1__ShowReply *)reply) ? WD_EXIT_OK
                                                              : WD_EXIT_FAILED;
}

const wd_verb wd_verb_show = {
    .name = "show",
    .help = "everything about one token",
    .args = "ID|-",
    .doc = doc,
    .options = options,
    .parser = parse,
    .flags = WD_VERB_OFFLINE,
    .run = run,
};
