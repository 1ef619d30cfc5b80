/* tokctl retire - the overlap of a rotation, ended early. */
#include "store/tokctl/backend.h"
#include "store/tokctl/simple.h"
#include "warded/v1/token.pb-c.h"

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    Warded__V1__RetireRequest ask;
} arguments;

static const char doc[] =
    "End the overlap of a rotation: the old secret is good no more. ID is any "
    "generation's of the family.\v"
    "  tokctl show --usage 3fJq0sLw9A      # is the old one still used?\n"
    "  tokctl retire 3fJq0sLw9A\n\n"
    "Exit status 5: no overlap is open.";

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    if (key == ARGP_KEY_NO_ARGS)
        wd_tokctl_misuse(state, "an ID is missing");
    if (key != ARGP_KEY_ARG)
        return ARGP_ERR_UNKNOWN;
    wd_simple_take_id(state, value, &args->ask.id);
    return 0;
}

static json_t *record(const ProtobufCMessage *reply)
{
    const Warded__V1__RetireReply *retired = (const Warded__V1__RetireReply *)reply;
    return retired->old != NULL ? wd_record(&retired->old->base) : NULL;
}

static int run(wd_tokctl *ctl, int argc, char **argv)
{
    arguments args = {.ctl = ctl};
    warded__v1__retire_request__init(&args.ask);
    wd_tokctl_parse(&wd_verb_retire, argc, argv, &args);
    const wd_simple simple = {WD_TOKEN_METHOD(Retire), &args.ask.base, record,
                              wd_token_members};
    return wd_simple_run(ctl, &simple, NULL);
}

const wd_verb wd_verb_retire = {
    .name = "retire",
    .help = "end a rotation's overlap now",
    .args = "ID",
    .doc = doc,
    .parser = parse,
    .run = run,
};
