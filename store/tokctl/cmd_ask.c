/* tokctl whoami, health - two questions to a gate. */
#include <stdio.h>

#include "store/tokctl/backend.h"
#include "store/tokctl/simple.h"
#include "warded/v1/health.pb-c.h"
#include "warded/v1/token.pb-c.h"

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
} arguments;

static const wd_column who_members[] = {
    {"principal", "principal", WD_COLUMN_TEXT, false},
    {"gate", "gate", WD_COLUMN_TEXT, false},
    {"certificate", "certificate_sha256", WD_COLUMN_TEXT, false},
    {"key", "key_sha256", WD_COLUMN_TEXT, false},
    {"token", "token.id", WD_COLUMN_TEXT, false},
    {"token name", "token.name", WD_COLUMN_TEXT, false},
    {"kind", "token.kind", WD_COLUMN_TEXT, false},
    {"scopes", "token.scopes", WD_COLUMN_TEXT, false},
    {"state", "token.state", WD_COLUMN_STATE, false},
    {"expires", "token.expires_ms", WD_COLUMN_TIME, false},
    {NULL, NULL, WD_COLUMN_TEXT, false},
};

static int run_whoami(wd_tokctl *ctl, int argc, char **argv)
{
    arguments args = {.ctl = ctl};
    Warded__V1__WhoAmIRequest ask;
    warded__v1__who_am_irequest__init(&ask);
    wd_tokctl_parse(&wd_verb_whoami, argc, argv, &args);
    const wd_simple simple = {WD_TOKEN_METHOD(WhoAmI), &ask.base, NULL, who_members};
    return wd_simple_run(ctl, &simple, NULL);
}

const wd_verb wd_verb_whoami = {
    .name = "whoami",
    .help = "whom a gate takes us for",
    .doc = "Ask a gate whom it takes us for: certificate and token.",
    .run = run_whoami,
};

static const wd_column health_members[] = {
    {"status", "status", WD_COLUMN_STATE, false},
    {"problem", "problem", WD_COLUMN_TEXT, false},
    {"warnings", "warnings", WD_COLUMN_TEXT, false},
    {"gate", "gate", WD_COLUMN_TEXT, false},
    {"version", "version", WD_COLUMN_TEXT, false},
    {"up", "uptime_ms", WD_COLUMN_SPAN, false},
    {"in flight", "in_flight", WD_COLUMN_TEXT, false},
    {"running", "running", WD_COLUMN_TEXT, false},
    {"sandbox", "sandbox_mode", WD_COLUMN_TEXT, false},
    {NULL, NULL, WD_COLUMN_TEXT, false},
};

static const wd_column layer_columns[] = {
    {"LAYER", "name", WD_COLUMN_TEXT, false},
    {"STATE", "state", WD_COLUMN_STATE, false},
    {"DETAIL", "detail", WD_COLUMN_TEXT, false},
    {NULL, NULL, WD_COLUMN_TEXT, false},
};

enum option_key { OPTION_LAYERS = 256 };

typedef struct health_arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    bool layers;
} health_arguments;

static const struct argp_option health_options[] = {
    {"layers", OPTION_LAYERS, NULL, 0, "A line for each wall of the sandbox", 0}, {0}};

/* NOLINTNEXTLINE(readability-non-const-parameter): argp's signature */
static error_t parse_health(int key, char *value, struct argp_state *state)
{
    health_arguments *args = state->input;
    (void)value;
    if (key != OPTION_LAYERS)
        return ARGP_ERR_UNKNOWN;
    args->layers = true;
    return 0;
}

static bool print_layers(const wd_tokctl *ctl,
                         const Warded__V1__HealthCheckReply *reply)
{
    WD_AUTO(wd_output) *out = wd_output_new(ctl, layer_columns);
    if (out == NULL)
        return false;
    for (size_t i = 0; i < reply->n_layers; i++)
        wd_output_add(out, wd_record(&reply->layers[i]->base));
    return wd_output_end(out);
}

static int run_health(wd_tokctl *ctl, int argc, char **argv)
{
    health_arguments args = {.ctl = ctl};
    wd_error err = {0};
    const ProtobufCMessage *message = NULL;
    Warded__V1__HealthCheckRequest ask;
    WD_AUTO(wd_backend) *backend = NULL;
    warded__v1__health_check_request__init(&ask);
    wd_tokctl_parse(&wd_verb_health, argc, argv, &args);
    if (wd_backend_open(ctl, &backend, &err) != WD_OK ||
        wd_backend_call(backend, "/warded.v1.Health/Check", &ask.base, &message,
                        &err) != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    const Warded__V1__HealthCheckReply *reply =
        (const Warded__V1__HealthCheckReply *)message;
    bool printed = args.layers ? print_layers(ctl, reply)
                               : wd_output_one(ctl, health_members, wd_record(message));
    if (!printed)
        return WD_EXIT_FAILED;
    return reply->status == WARDED__V1__HEALTH_CHECK_REPLY__STATUS__SERVING
               ? WD_EXIT_OK
               : WD_EXIT_FAILED;
}

const wd_verb wd_verb_health = {
    .name = "health",
    .help = "is a gate fit to take calls?",
    .doc = "Ask a gate how it is, and how well it is locked.\v"
           "Exit status 0: it serves; 1: it does not; 6: none was reached.",
    .options = health_options,
    .parser = parse_health,
    .run = run_health,
};
