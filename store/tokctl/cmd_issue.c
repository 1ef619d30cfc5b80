/* tokctl issue - a token, its secret to a file or to standard output, once. */
#include <stdio.h>
#include <string.h>

#include "proto/c/clock.h"
#include "store/scope.h"
#include "store/tokctl/backend.h"
#include "store/tokctl/issued.h"
#include "store/tokctl/selectors.h"
#include "store/tokctl/times.h"
#include "warded/v1/token.pb-c.h"

enum option_key {
    OPTION_TTL = 256,
    OPTION_NOT_BEFORE,
    OPTION_OWNER,
    OPTION_PURPOSE,
    OPTION_AUDIENCE,
    OPTION_UNBOUND,
    OPTION_ADMIN,
    OPTION_OUT,
    OPTION_IDLE,
    OPTION_USES,
    OPTION_RATE,
    OPTION_CONCURRENCY,
    OPTION_RENEWABLE,
    OPTION_WRAP,
    OPTION_POOL,
};

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    Warded__V1__IssueRequest ask;
    Warded__V1__TokenRate rate;
    char *scopes[WD_SCOPES_COUNT];
    const char *ttl, *not_before, *idle, *renewable, *wrap, *out, *pool;
    char audience[WD_POOL_AUDIENCE_BYTES]; /* of --pool */
} arguments;

static const struct argp_option options[] = {
    {"scope", 's', "AREA:OBJECT", 0,
     "What it allows; once for each scope: observe:python_code, env:*, token:issue, "
     "audit:read",
     0},
    {"bind", 'b', "WHOM", 0,
     "The client that must come with it: uri:SPIFFE-ID, key:HEX or cert:HEX (SHA-256); "
     "over RPC also self, our own identity [self]",
     0},
    {"ttl", OPTION_TTL, "SPAN", 0, "How long it holds [1h; --admin: 15m], at most 30d",
     0},
    {"not-before", OPTION_NOT_BEFORE, "TIME", 0, "From when on: a time, or +1h [now]",
     0},
    {"owner", OPTION_OWNER, "NAME", 0, "Whose it is, for people and filters", 0},
    {"purpose", OPTION_PURPOSE, "TEXT", 0, "What it is for, for people", 0},
    {"audience", OPTION_AUDIENCE, "GLOB", 0, "Only for gates whose URI is like this",
     0},
    {"pool", OPTION_POOL, "NAME", 0, "Only for gates of this pool", 0},
    {"idle", OPTION_IDLE, "SPAN", 0, "It ends when it is not used for so long", 0},
    {"uses", OPTION_USES, "N", 0, "It is good for so many calls", 0},
    {"rate", OPTION_RATE, "N/SPAN", 0, "So many calls in that time: 100/1m", 0},
    {"concurrency", OPTION_CONCURRENCY, "N", 0, "So many calls at once", 0},
    {"renewable", OPTION_RENEWABLE, "SPAN", 0,
     "How long it can live with renewals [30d]", 0},
    {"wrap", OPTION_WRAP, "SPAN", 0,
     "Tell a one-time wrap that holds so long, not the token: see unwrap", 0},
    {"unbound", OPTION_UNBOUND, NULL, 0,
     "Works for whoever has it, a thief included; flagged for ever", 0},
    {"admin", OPTION_ADMIN, NULL, 0, "A token of kind admin (wda1_)", 0},
    {"out", OPTION_OUT, "FILE", 0, "The secret to a new file of mode 0600", 0},
    {0},
};

static const char doc[] =
    "Make a token. Its secret is told this once: to standard output, or to --out; its "
    "id, which is no secret, to standard error.\v"
    "  tokctl issue trainer --scope observe:python_code \\\n"
    "    --bind uri:spiffe://warded.local/ns/default/owner/ann/client/trainer \\\n"
    "    --ttl 8h --out trainer/token\n\n"
    "It may do no more than our own token, and ends with it. Offline (--db) the gate "
    "must not be running on the store (exit status 5).";

static char **text_place(arguments *args, int key)
{
    switch (key) {
    case 'b':
        return &args->ask.bind;
    case OPTION_OWNER:
        return &args->ask.owner;
    case OPTION_PURPOSE:
        return &args->ask.purpose;
    case OPTION_AUDIENCE:
        return &args->ask.audience;
    default:
        return NULL;
    }
}

/* Spans and times are read when all is there. */
static const char **later_place(arguments *args, int key)
{
    switch (key) {
    case OPTION_TTL:
        return &args->ttl;
    case OPTION_NOT_BEFORE:
        return &args->not_before;
    case OPTION_IDLE:
        return &args->idle;
    case OPTION_RENEWABLE:
        return &args->renewable;
    case OPTION_WRAP:
        return &args->wrap;
    case OPTION_OUT:
        return &args->out;
    case OPTION_POOL:
        return &args->pool;
    default:
        return NULL;
    }
}

static void take_rate(arguments *args, const char *text, struct argp_state *state)
{
    char calls[24] = "";
    int64_t ms = 0;
    const char *slash = strchr(text, '/');
    if (slash == NULL || (size_t)(slash - text) >= sizeof(calls) ||
        wd_span_parse("--rate", slash + 1, &ms, NULL) != WD_OK || ms > UINT32_MAX)
        wd_tokctl_misuse(state, "--rate %s: such as 100/1m", text);
    memcpy(calls, text, (size_t)(slash - text));
    warded__v1__token_rate__init(&args->rate);
    args->rate.calls = (uint32_t)wd_tokctl_number(state, "--rate", calls, 1, 1000000);
    args->rate.per_ms = (uint32_t)ms;
    args->ask.rate = &args->rate;
}

static error_t parse_limit(int key, const char *value, arguments *args,
                           struct argp_state *state)
{
    switch (key) {
    case OPTION_USES:
        args->ask.max_uses =
            wd_tokctl_number(state, "--uses", value, 1, UINT64_C(1) << 40);
        return 0;
    case OPTION_CONCURRENCY:
        args->ask.concurrency =
            (uint32_t)wd_tokctl_number(state, "--concurrency", value, 1, 4096);
        return 0;
    case OPTION_RATE:
        take_rate(args, value, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    char **text = text_place(args, key);
    const char **later = later_place(args, key);
    if (text != NULL)
        *text = value;
    else if (later != NULL)
        *later = value;
    else if (key == 's' && args->ask.n_scopes < WD_SCOPES_COUNT)
        args->scopes[args->ask.n_scopes++] = value;
    else if (key == 's')
        wd_tokctl_misuse(state, "more than %u scopes", WD_SCOPES_COUNT);
    else if (key == OPTION_UNBOUND)
        args->ask.allow_unbound = true;
    else if (key == OPTION_ADMIN)
        args->ask.kind = wd_sent_text("admin");
    else if (key == ARGP_KEY_ARG && args->ask.name[0] != '\0')
        wd_tokctl_misuse(state, "one NAME, not also \"%s\"", value);
    else if (key == ARGP_KEY_ARG)
        args->ask.name = value;
    else if (key == ARGP_KEY_NO_ARGS)
        wd_tokctl_misuse(state, "a NAME is missing");
    else
        return parse_limit(key, value, args, state);
    return 0;
}

static wd_status read_spans(arguments *args, wd_error *err)
{
    const wd_span_option spans[] = {
        {"--ttl", args->ttl, &args->ask.ttl_ms},
        {"--idle", args->idle, &args->ask.idle_ms},
        {"--renewable", args->renewable, &args->ask.renewable_ms},
        {"--wrap", args->wrap, &args->ask.wrap_ttl_ms},
    };
    int64_t ms = 0;
    WD_TRY(wd_spans_parse(spans, sizeof(spans) / sizeof(spans[0]), err));
    if (args->not_before == NULL)
        return WD_OK;
    WD_TRY(wd_time_parse("--not-before", args->not_before,
                         wd_clock_wall_ms(wd_clock_system()), &ms, err));
    args->ask.not_before_ms = (uint64_t)ms;
    return WD_OK;
}

static wd_status settle_pool(arguments *args, wd_error *err)
{
    if (args->pool == NULL)
        return WD_OK;
    if (args->ask.audience[0] != '\0')
        return wd_fail(err, WD_INVALID_ARGUMENT, "--audience or --pool, not both");
    WD_TRY(wd_pool_audience(args->pool, args->audience, err));
    args->ask.audience = args->audience;
    return WD_OK;
}

static wd_status settle(arguments *args, wd_error *err)
{
    const bool offline = args->ctl->db != NULL || args->ctl->home != NULL;
    args->ask.scopes = args->scopes;
    WD_TRY(read_spans(args, err));
    WD_TRY(settle_pool(args, err));
    if (strcmp(args->ask.bind, "self") == 0 && !offline)
        args->ask.bind = wd_sent_text("");
    if (args->ask.bind[0] != '\0' && args->ask.allow_unbound)
        return wd_fail(err, WD_INVALID_ARGUMENT, "--bind or --unbound, not both");
    if (args->ask.allow_unbound)
        args->ask.bind = wd_sent_text("unbound");
    if (offline && args->ask.bind[0] == '\0')
        return wd_fail(
            err, WD_INVALID_ARGUMENT,
            "--bind uri:spiffe://... says whose certificate must come with it");
    return WD_OK;
}

static int run(wd_tokctl *ctl, int argc, char **argv)
{
    arguments args = {.ctl = ctl};
    wd_error err = {0};
    warded__v1__issue_request__init(&args.ask);
    wd_tokctl_parse(&wd_verb_issue, argc, argv, &args);
    if (settle(&args, &err) != WD_OK)
        wd_tokctl_usage(ctl, &err);
    const wd_issuing issuing = {
        .path = WD_TOKEN_METHOD(Issue),
        .request = &args.ask.base,
        .read = wd_issued_of_issue,
        .out = args.out,
        .admin = args.ask.kind[0] != '\0' && args.ask.wrap_ttl_ms == 0,
    };
    return wd_issuing_run(ctl, &issuing);
}

const wd_verb wd_verb_issue = {
    .name = "issue",
    .alias = "create",
    .help = "make a token; its secret is told once",
    .args = "NAME",
    .doc = doc,
    .options = options,
    .parser = parse,
    .flags = WD_VERB_OFFLINE,
    .run = run,
};
