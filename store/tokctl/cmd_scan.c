/* tokctl scan - tokens in trees and in git's history, by their check digits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/tokctl/backend.h"
#include "store/tokctl/leaked.h"
#include "store/tokctl/progress.h"
#include "store/tokctl/scan.h"
#include "store/tokctl/verbs.h"
#include "store/tokctl/views.h"
#include "warded/v1/token.pb-c.h"

#define PATHS_COUNT 256U

enum option_key { OPTION_GIT = 256, OPTION_LIVE, OPTION_REVOKE };

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    const char *paths[PATHS_COUNT];
    size_t n_paths;
    bool git, live, revoke;
    bool full; /* more than one request to revoke may have */
    wd_leaked leaked;
    wd_output *out;
    wd_backend *backend; /* --live, --revoke */
    wd_progress progress;
    wd_scan scan;
    uint64_t n_found;
} arguments;

static const struct argp_option options[] = {
    {"git", OPTION_GIT, NULL, 0,
     "Also all that git keeps of each PATH's past, branches or not", 0},
    {"live", OPTION_LIVE, NULL, 0, "Ask what state each is in", 0},
    {"revoke", OPTION_REVOKE, NULL, 0, "Revoke all that was found", 0},
    {0},
};

static const char doc[] =
    "Find tokens in files: in every file below PATH, and with --git in every object "
    "that git has. What is found is told by place and id, never by its secret; text "
    "that only looks like a token is not, for its check digits are wrong. Nobody is "
    "asked, unless --live or --revoke says so.\v"
    "  tokctl scan --git .\n"
    "  tokctl scan --revoke --yes build/logs\n\n"
    "Exit status 0: none was found, or all were revoked; 1: some were found; 8: some "
    "could not be read, or are not this gate's.";

static const wd_column columns[] = {
    {"PLACE", "place", WD_COLUMN_LONG, false},  {"LINE", "line", WD_COLUMN_TEXT, false},
    {"ID", "id", WD_COLUMN_TEXT, false},        {"KIND", "kind", WD_COLUMN_TEXT, false},
    {"STATE", "state", WD_COLUMN_STATE, false}, {NULL, NULL, WD_COLUMN_TEXT, false},
};

/* NOLINTNEXTLINE(readability-non-const-parameter): argp's signature */
static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case OPTION_GIT:
        args->git = true;
        return 0;
    case OPTION_LIVE:
        args->live = true;
        return 0;
    case OPTION_REVOKE:
        args->revoke = true;
        return 0;
    case ARGP_KEY_ARG:
        if (args->n_paths == PATHS_COUNT)
            wd_tokctl_misuse(state, "more than %u PATHs", PATHS_COUNT);
        args->paths[args->n_paths++] = value;
        return 0;
    case ARGP_KEY_NO_ARGS:
        wd_tokctl_misuse(state, "a PATH is missing");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* "active", "revoked", ...; "unknown" when it is not this gate's; "" not asked. */
static json_t *state_of(const arguments *args, char *id)
{
    const ProtobufCMessage *message = NULL;
    wd_error err = {0};
    Warded__V1__ShowRequest ask;
    if (!args->live)
        return json_string("");
    warded__v1__show_request__init(&ask);
    ask.id = id;
    if (wd_backend_call(args->backend, WD_TOKEN_METHOD(Show), &ask.base, &message,
                        &err) != WD_OK)
        return json_string(err.status == WD_NOT_FOUND ? "unknown" : "?");
    json_t *record = wd_record(message);
    json_t *state =
        json_incref(json_object_get(json_object_get(record, "info"), "state"));
    json_decref(record);
    return state;
}

static bool found(void *arg, const wd_sighting *sighting)
{
    arguments *args = arg;
    wd_token_name name = {.id = ""};
    (void)wd_token_parse(sighting->token->chars, &name);
    args->n_found++;
    wd_output_add(args->out, json_pack("{s:o, s:I, s:s, s:s, s:o}", "place",
                                       wd_output_text(sighting->where), "line",
                                       (json_int_t)sighting->line, "id", name.id,
                                       "kind", wd_token_kind_name(name.kind), "state",
                                       state_of(args, name.id)));
    wd_progress_show(&args->progress, args->scan.files, 0);
    args->full = args->revoke && !wd_leaked_add(&args->leaked, sighting->token);
    return !args->full;
}

static wd_status scan_all(arguments *args, wd_error *err)
{
    for (size_t i = 0; i < args->n_paths && !args->full; i++) {
        WD_TRY(wd_scan_tree(&args->scan, args->paths[i], err));
        if (args->git && !args->full)
            WD_TRY(wd_scan_git(&args->scan, args->paths[i], err));
    }
    if (!args->full)
        return WD_OK;
    return wd_fail(err, WD_RESOURCE_EXHAUSTED,
                   "more than %u tokens were found, and none was revoked: scan one "
                   "folder after the other",
                   WD_LEAKED_COUNT);
}

/* All that was found, in one call. */
static int take_back(arguments *args)
{
    char question[64];
    const ProtobufCMessage *message = NULL;
    wd_error err = {0};
    Warded__V1__RevokeRequest ask;
    warded__v1__revoke_request__init(&ask);
    (void)snprintf(question, sizeof(question), "revoke %zu tokens", args->leaked.n);
    if (!wd_tokctl_confirm(args->ctl, question))
        return WD_EXIT_USAGE;
    ask.leaked = args->leaked.texts;
    ask.n_leaked = args->leaked.n;
    ask.reason = wd_sent_text("found by tokctl scan");
    ask.dry_run = args->ctl->dry_run;
    if (wd_backend_call(args->backend, WD_TOKEN_METHOD(Revoke), &ask.base, &message,
                        &err) != WD_OK)
        return wd_tokctl_fail(args->ctl, &err);
    const Warded__V1__RevokeReply *reply = (const Warded__V1__RevokeReply *)message;
    if (!args->ctl->quiet)
        (void)fprintf(stderr, "%s %u, %u were not live, %u are not this gate's\n",
                      ask.dry_run ? "would revoke" : "revoked", reply->revoked,
                      reply->already, reply->leaked_unknown);
    return reply->leaked_unknown == 0 ? WD_EXIT_OK : WD_EXIT_PARTIAL;
}

static int finish(arguments *args)
{
    int status = args->n_found > 0 ? WD_EXIT_FAILED : WD_EXIT_OK;
    wd_progress_end(&args->progress);
    if (!wd_output_end(args->out))
        return WD_EXIT_FAILED;
    if (args->revoke && args->leaked.n > 0)
        status = take_back(args);
    if (args->scan.unreadable > 0 && status == WD_EXIT_OK)
        status = WD_EXIT_PARTIAL;
    return status;
}

static int scan(arguments *args)
{
    wd_error err = {0};
    WD_AUTO(wd_backend) *backend = NULL;
    WD_AUTO(wd_output) *out = wd_output_new(args->ctl, columns);
    if (out == NULL)
        return WD_EXIT_FAILED;
    if ((args->live || args->revoke) &&
        wd_backend_open(args->ctl, &backend, &err) != WD_OK)
        return wd_tokctl_fail(args->ctl, &err);
    args->out = out;
    args->backend = backend;
    args->progress = wd_progress_begin(args->ctl, "files");
    args->scan = (wd_scan){.arg = args, .found = found};
    if (scan_all(args, &err) != WD_OK)
        return wd_tokctl_fail(args->ctl, &err);
    return finish(args);
}

static int run(wd_tokctl *ctl, int argc, char **argv)
{
    arguments args = {.ctl = ctl};
    wd_tokctl_parse(&wd_verb_scan, argc, argv, &args);
    int status = scan(&args);
    wd_leaked_done(&args.leaked);
    return status;
}

const wd_verb wd_verb_scan = {
    .name = "scan",
    .help = "find tokens in files and in git's history",
    .args = "PATH...",
    .doc = doc,
    .options = options,
    .parser = parse,
    .flags = WD_VERB_OFFLINE | WD_VERB_DRY_RUN | WD_VERB_ASKS,
    .run = run,
};
