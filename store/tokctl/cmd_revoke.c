/* tokctl revoke - tokens taken back, with the reason on record. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/c/sha256.h"
#include "store/tokctl/backend.h"
#include "store/tokctl/leaked.h"
#include "store/tokctl/selectors.h"
#include "store/tokctl/verbs.h"
#include "store/tokctl/views.h"
#include "warded/v1/token.pb-c.h"

#define IDS_COUNT 1024U

enum option_key { OPTION_ALL = 256, OPTION_CHILDREN, OPTION_LEAKED };

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    wd_selectors selectors;
    Warded__V1__RevokeRequest ask;
    char *ids[IDS_COUNT];
    const char *leaked;
} arguments;

static const struct argp_option options[] = {
    {"reason", 'r', "TEXT", 0, "Why, for the record", 0},
    {"generations", OPTION_ALL, NULL, 0, "Of each ID: all generations of its family",
     0},
    {"children", OPTION_CHILDREN, NULL, 0,
     "Of each ID: also those that were issued with it, and so on", 0},
    {"leaked", OPTION_LEAKED, "FILE", 0,
     "Those whose whole secret stands anywhere in this text; '-': standard input", 0},
    {0},
};

static const char doc[] =
    "Revoke tokens: by id, by what stands in a leaked text, by filter. When it has "
    "answered, no call with them passes, and those under way are ended. If one of the "
    "ids is unknown, none is revoked.\v"
    "  tokctl revoke 3fJq0sLw9A --reason 'laptop stolen'\n"
    "  tokctl revoke --owner ann --dry-run\n"
    "  tokctl revoke --leaked - <build.log\n\n"
    "All but plain ids asks first; --yes does not. Exit status 3: an id is "
    "unknown; 8: some of what --leaked found is not this gate's. Offline (--db) the "
    "gate must not be running on the store (exit status 5); only IDs will do.";

static const wd_column members[] = {
    {"revoked", "revoked", WD_COLUMN_TEXT, false},
    {"already", "already", WD_COLUMN_TEXT, false},
    {"calls ended", "calls_signalled", WD_COLUMN_TEXT, false},
    {"took, us", "took_us", WD_COLUMN_TEXT, false},
    {"on disk, us", "durable_us", WD_COLUMN_TEXT, false},
    {"ids", "ids", WD_COLUMN_TEXT, false},
    {"unknown secrets", "leaked_unknown", WD_COLUMN_TEXT, false},
    {NULL, NULL, WD_COLUMN_TEXT, false},
};

static void add_id(arguments *args, char *id, struct argp_state *state)
{
    if (!wd_token_id_valid(id))
        wd_tokctl_misuse(state, "an ID has ten letters and digits");
    if (args->ask.n_ids == IDS_COUNT)
        wd_tokctl_misuse(state, "more than %u IDs", IDS_COUNT);
    args->ids[args->ask.n_ids++] = id;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case 'r':
        args->ask.reason = value;
        return 0;
    case OPTION_ALL:
        args->ask.family = true;
        return 0;
    case OPTION_CHILDREN:
        args->ask.children = true;
        return 0;
    case OPTION_LEAKED:
        args->leaked = value;
        return 0;
    case ARGP_KEY_ARG:
        add_id(args, value, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool is_bulk(const Warded__V1__RevokeRequest *ask)
{
    return ask->family || ask->children || ask->filter[0] != '\0' || ask->n_leaked > 0;
}

/* What a bulk revocation would do, asked of who would do it. */
static wd_status preview(wd_backend *backend, Warded__V1__RevokeRequest *ask,
                         uint32_t *ret_n, wd_error *err)
{
    const ProtobufCMessage *message = NULL;
    ask->dry_run = true;
    wd_status status =
        wd_backend_call(backend, WD_TOKEN_METHOD(Revoke), &ask->base, &message, err);
    ask->dry_run = false;
    if (status == WD_OK)
        *ret_n = ((const Warded__V1__RevokeReply *)message)->revoked;
    return status;
}

/* WD_EXIT_OK: go on. */
static int confirm(const arguments *args, wd_backend *backend,
                   Warded__V1__RevokeRequest *ask)
{
    char question[64];
    uint32_t n = 0;
    wd_error err = {0};
    if (!is_bulk(ask) || args->ctl->yes || args->ctl->dry_run)
        return WD_EXIT_OK;
    if (preview(backend, ask, &n, &err) != WD_OK)
        return wd_tokctl_fail(args->ctl, &err);
    (void)snprintf(question, sizeof(question), "revoke %u tokens", n);
    return n == 0 || wd_tokctl_confirm(args->ctl, question) ? WD_EXIT_OK
                                                            : WD_EXIT_USAGE;
}

static int take_back(arguments *args)
{
    const ProtobufCMessage *message = NULL;
    wd_error err = {0};
    WD_AUTO(wd_backend) *backend = NULL;
    if (wd_backend_open(args->ctl, &backend, &err) != WD_OK)
        return wd_tokctl_fail(args->ctl, &err);
    int status = confirm(args, backend, &args->ask);
    if (status != WD_EXIT_OK)
        return status;
    args->ask.dry_run = args->ctl->dry_run;
    if (wd_backend_call(backend, WD_TOKEN_METHOD(Revoke), &args->ask.base, &message,
                        &err) != WD_OK)
        return wd_tokctl_fail(args->ctl, &err);
    const Warded__V1__RevokeReply *reply = (const Warded__V1__RevokeReply *)message;
    const uint32_t unknown = reply->leaked_unknown;
    if (!wd_output_one(args->ctl, members, wd_record(message)))
        return WD_EXIT_FAILED;
    return unknown == 0 ? WD_EXIT_OK : WD_EXIT_PARTIAL;
}

static wd_status settle(arguments *args, char *filter, wd_leaked *leaked, wd_error *err)
{
    args->ask.ids = args->ids;
    WD_TRY(wd_selectors_settle(&args->selectors, filter, err));
    args->ask.filter = filter;
    if (args->leaked != NULL)
        WD_TRY(wd_leaked_read(leaked, args->leaked, err));
    args->ask.leaked = leaked->texts;
    args->ask.n_leaked = leaked->n;
    if (args->ask.n_ids == 0 && filter[0] == '\0' && args->leaked == NULL)
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "an ID is missing, or --leaked, or a filter");
    return WD_OK;
}

static int run(wd_tokctl *ctl, int argc, char **argv)
{
    arguments args = {.ctl = ctl};
    char filter[WD_SELECTORS_BYTES];
    wd_error err = {0};
    __attribute__((cleanup(wd_leaked_done))) wd_leaked leaked = {0};
    warded__v1__revoke_request__init(&args.ask);
    wd_tokctl_parse(&wd_verb_revoke, argc, argv, &args);
    wd_status status = settle(&args, filter, &leaked, &err);
    if (status == WD_INVALID_ARGUMENT)
        wd_tokctl_usage(ctl, &err);
    if (status != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    return take_back(&args);
}

const wd_verb wd_verb_revoke = {
    .name = "revoke",
    .help = "take tokens back",
    .args = "[ID...]",
    .doc = doc,
    .options = options,
    .parser = parse,
    .more = &wd_selectors_argp,
    .more_title = "Or all tokens that pass:",
    .more_offset = offsetof(arguments, selectors),
    .flags = WD_VERB_OFFLINE | WD_VERB_DRY_RUN | WD_VERB_ASKS,
    .run = run,
};
