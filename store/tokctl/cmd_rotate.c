/* tokctl rotate - the next generation of a token; of all of an owner's, a file each. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "store/tokctl/backend.h"
#include "store/tokctl/issued.h"
#include "store/tokctl/rotate_all.h"
#include "store/tokctl/simple.h"
#include "store/tokctl/times.h"
#include "store/token.h"

enum option_key {
    OPTION_OVERLAP = 256,
    OPTION_TTL,
    OPTION_ON_FIRST_USE,
    OPTION_FORCE,
    OPTION_WRAP,
    OPTION_OUT,
    OPTION_ALL_OWNER,
    OPTION_OUT_DIR,
};

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    Warded__V1__RotateRequest ask;
    const char *overlap, *ttl, *wrap, *out, *all_owner, *out_dir;
} arguments;

static const struct argp_option options[] = {
    {"overlap", OPTION_OVERLAP, "SPAN", 0,
     "How long the old secret is good beside the new one [10m], at most 7d", 0},
    {"ttl", OPTION_TTL, "SPAN", 0, "Of the new one [as long as the old was made for]",
     0},
    {"retire-on-first-use", OPTION_ON_FIRST_USE, NULL, 0,
     "The first call with the new one ends the overlap", 0},
    {"force", OPTION_FORCE, NULL, 0, "End an overlap that is still open", 0},
    {"wrap", OPTION_WRAP, "SPAN", 0, "Tell a one-time wrap, not the token: see unwrap",
     0},
    {"out", OPTION_OUT, "FILE", 0, "The secret to a new file of mode 0600", 0},
    {"all-owner", OPTION_ALL_OWNER, "NAME", 0,
     "All active tokens of this owner, one after the other", 0},
    {"out-dir", OPTION_OUT_DIR, "DIR", 0,
     "With --all-owner: a file of mode 0600 for each, named by the old one's id", 0},
    {0},
};

static const char doc[] =
    "Make the next generation of a token: a new secret, told once, and an overlap in "
    "which both are good. Without an ID: our own token.\v"
    "  tokctl rotate 3fJq0sLw9A --overlap 1h --out new-token\n"
    "  tokctl rotate --all-owner ann --out-dir new/ --yes\n\n"
    "Exit status 5: an overlap is still open (see --force); 8: some of many were not "
    "rotated, each is named.";

static const char **place_of(arguments *args, int key)
{
    switch (key) {
    case OPTION_OVERLAP:
        return &args->overlap;
    case OPTION_TTL:
        return &args->ttl;
    case OPTION_WRAP:
        return &args->wrap;
    case OPTION_OUT:
        return &args->out;
    case OPTION_ALL_OWNER:
        return &args->all_owner;
    case OPTION_OUT_DIR:
        return &args->out_dir;
    default:
        return NULL;
    }
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    const char **place = place_of(args, key);
    if (place != NULL)
        *place = value;
    else if (key == OPTION_ON_FIRST_USE)
        args->ask.retire_on_first_use = true;
    else if (key == OPTION_FORCE)
        args->ask.force = true;
    else if (key == ARGP_KEY_ARG)
        wd_simple_take_id(state, value, &args->ask.id);
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

static wd_status settle(arguments *args, wd_error *err)
{
    const wd_span_option spans[] = {
        {"--overlap", args->overlap, &args->ask.overlap_ms},
        {"--ttl", args->ttl, &args->ask.ttl_ms},
        {"--wrap", args->wrap, &args->ask.wrap_ttl_ms},
    };
    WD_TRY(wd_spans_parse(spans, sizeof(spans) / sizeof(spans[0]), err));
    if ((args->all_owner == NULL) != (args->out_dir == NULL))
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "--all-owner NAME and --out-dir DIR go together");
    if (args->all_owner != NULL && (args->ask.id[0] != '\0' || args->out != NULL))
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "--all-owner takes neither an ID nor --out");
    if (args->all_owner == NULL && args->ctl->dry_run)
        return wd_fail(err, WD_INVALID_ARGUMENT, "--dry-run goes with --all-owner");
    return WD_OK;
}

static int run(wd_tokctl *ctl, int argc, char **argv)
{
    arguments args = {.ctl = ctl};
    wd_error err = {0};
    warded__v1__rotate_request__init(&args.ask);
    wd_tokctl_parse(&wd_verb_rotate, argc, argv, &args);
    if (settle(&args, &err) != WD_OK)
        wd_tokctl_usage(ctl, &err);
    if (args.all_owner != NULL)
        return wd_rotate_all(ctl, args.all_owner, args.out_dir, &args.ask);
    const wd_issuing issuing = {
        .path = WD_TOKEN_METHOD(Rotate),
        .request = &args.ask.base,
        .read = wd_issued_of_rotate,
        .out = args.out,
    };
    return wd_issuing_run(ctl, &issuing);
}

const wd_verb wd_verb_rotate = {
    .name = "rotate",
    .help = "a new secret, and an overlap with the old one",
    .args = "[ID]",
    .doc = doc,
    .options = options,
    .parser = parse,
    .flags = WD_VERB_DRY_RUN | WD_VERB_ASKS,
    .run = run,
};
