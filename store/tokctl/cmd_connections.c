/* tokctl connections - who is connected to a gate now, page by page. */
#include <stdio.h>

#include "proto/c/clock.h"
#include "store/tokctl/backend.h"
#include "store/tokctl/progress.h"
#include "store/tokctl/times.h"
#include "store/tokctl/verbs.h"
#include "store/tokctl/views.h"
#include "warded/v1/health.pb-c.h"

#define PAGE_ROWS  1000U
#define LIMIT_MOST 1000000000U

enum option_key { OPTION_PEER = 256, OPTION_EXPIRING, OPTION_CURSOR };

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    Warded__V1__ConnectionsRequest ask;
    const char *expiring;
    uint64_t limit;
} arguments;

static const struct argp_option options[] = {
    {"peer", OPTION_PEER, "GLOB", 0, "By URI, address or certificate's digest", 0},
    {"expiring", OPTION_EXPIRING, "SPAN", 0,
     "Only those whose certificate ends within it, or has ended", 0},
    {"limit", 'n', "N", 0, "At most so many; 0: all of them [0]", 0},
    {"cursor", OPTION_CURSOR, "NUMBER", 0, "Go on where the last answer ended", 0},
    {0},
};

static const char doc[] =
    "List the connections that a gate has now, oldest first: whose certificate, from "
    "where, since when, how many calls wait for their reply, and how many bytes of "
    "requests and of unread replies the gate keeps for it. Ours is among them. Takes "
    "the "
    "scope health:connections.\v"
    "A connection lives on with the certificate that it began with: with --expiring 1d "
    "one sees who has to connect anew.\n"
    "\n"
    "  tokctl connections --peer '*/owner/ann/*'\n"
    "  tokctl connections --expiring 1d -o wide\n"
    "  tokctl connections -o csv --no-headers | wc -l";

static const wd_column columns[] = {
    {"NUMBER", "number", WD_COLUMN_TEXT, false},
    {"PEER", "peer", WD_COLUMN_WHO, false},
    {"ADDRESS", "address", WD_COLUMN_TEXT, false},
    {"SINCE", "since_ms", WD_COLUMN_TIME, false},
    {"CALLS", "calls", WD_COLUMN_COUNT, false},
    {"BYTES IN", "request_bytes", WD_COLUMN_COUNT, false},
    {"BYTES OUT", "reply_bytes", WD_COLUMN_COUNT, false},
    {"CERTIFICATE ENDS", "certificate_expires_ms", WD_COLUMN_TIME, false},
    {"OWN", "own", WD_COLUMN_TEXT, true},
    {"CERTIFICATE", "certificate_sha256", WD_COLUMN_TEXT, true},
    {NULL, NULL, WD_COLUMN_TEXT, false},
};

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case OPTION_PEER:
        args->ask.peer = value;
        return 0;
    case OPTION_EXPIRING:
        args->expiring = value;
        return 0;
    case OPTION_CURSOR:
        args->ask.after = wd_tokctl_number(state, "--cursor", value, 1, INT64_MAX);
        return 0;
    case 'n':
        args->limit = wd_tokctl_number(state, "--limit", value, 0, LIMIT_MOST);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void settle(arguments *args)
{
    wd_error err = {0};
    int64_t span_ms = 0;
    if (args->limit == 0)
        args->limit = UINT64_MAX;
    if (args->expiring == NULL)
        return;
    if (wd_span_parse("--expiring", args->expiring, &span_ms, &err) != WD_OK)
        wd_tokctl_usage(args->ctl, &err);
    args->ask.expires_before_ms =
        (uint64_t)(wd_clock_wall_ms(wd_clock_system()) + span_ms);
}

static wd_status print_pages(arguments *args, wd_backend *backend, wd_output *out,
                             wd_error *err)
{
    wd_progress progress = wd_progress_begin(args->ctl, "connections");
    wd_status status = WD_OK;
    for (uint64_t n = 0; n < args->limit;) {
        const ProtobufCMessage *message = NULL;
        const uint64_t left = args->limit - n;
        args->ask.limit = left < PAGE_ROWS ? (uint32_t)left : PAGE_ROWS;
        status = wd_backend_call(backend, "/warded.v1.Health/Connections",
                                 &args->ask.base, &message, err);
        if (status != WD_OK)
            break;
        const Warded__V1__ConnectionsReply *reply =
            (const Warded__V1__ConnectionsReply *)message;
        for (size_t i = 0; i < reply->n_connections; i++)
            wd_output_add(out, wd_record(&reply->connections[i]->base));
        n += reply->n_connections;
        args->ask.after = reply->next;
        wd_progress_show(&progress, n, reply->total);
        if (reply->next == 0)
            break;
    }
    wd_progress_end(&progress);
    return status;
}

static int run(wd_tokctl *ctl, int argc, char **argv)
{
    arguments args = {.ctl = ctl};
    wd_error err = {0};
    WD_AUTO(wd_backend) *backend = NULL;
    warded__v1__connections_request__init(&args.ask);
    wd_tokctl_parse(&wd_verb_connections, argc, argv, &args);
    settle(&args);
    WD_AUTO(wd_output) *out = wd_output_new(ctl, columns);
    if (out == NULL)
        return WD_EXIT_FAILED;
    if (wd_backend_open(ctl, &backend, &err) != WD_OK ||
        print_pages(&args, backend, out, &err) != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    if (!wd_output_end(out))
        return WD_EXIT_FAILED;
    if (args.ask.after != 0 && !ctl->quiet)
        (void)fprintf(stderr, "there are more: go on with --cursor %llu\n",
                      (unsigned long long)args.ask.after);
    return WD_EXIT_OK;
}

const wd_verb wd_verb_connections = {
    .name = "connections",
    .help = "who is connected to a gate now",
    .doc = doc,
    .options = options,
    .parser = parse,
    .run = run,
};
