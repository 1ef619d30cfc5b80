/* The options that verbs share: who answers, and how it is shown. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/c/endpoint.h"
#include "store/tokctl/times.h"
#include "store/tokctl/walk.h"

#define TIMEOUT_MS  10000U
#define SHARED_MOST 16 /* options of one child */

enum option_key {
    OPTION_SERVER = 1024,
    OPTION_CA,
    OPTION_CERT,
    OPTION_KEY,
    OPTION_TOKEN_FILE,
    OPTION_POLICY,
    OPTION_TIMEOUT,
    OPTION_FIELD,
    OPTION_NO_HEADERS,
    OPTION_DRY_RUN,
};

/* --- who answers ---------------------------------------------------------------------- */

static const struct argp_option where_options[] = {
    {"profile", 'P', "DIR", 0,
     "Who we are and which gate to ask [$WARDED_PROFILE, else "
     "~/.config/warded/default]",
     0},
    {"server", OPTION_SERVER, "HOST:PORT", 0,
     "The gate, not the profile's; or 'ADDRESS as HOST:PORT' [$WARDED_SERVER]", 0},
    {"ca", OPTION_CA, "FILE", 0, "The CA, not the profile's [$WARDED_CA]", 0},
    {"cert", OPTION_CERT, "FILE", 0, "Our certificate [$WARDED_CERT]", 0},
    {"key", OPTION_KEY, "FILE", 0, "Its key, mode 0600 [$WARDED_KEY]", 0},
    {"token-file", OPTION_TOKEN_FILE, "FILE", 0,
     "Our token, mode 0600 [$WARDED_TOKEN_FILE]", 0},
    {"policy", OPTION_POLICY, "FILE", 0, "Which gates to trust [$WARDED_POLICY]", 0},
    {"timeout", OPTION_TIMEOUT, "SPAN", 0,
     "How long a call may take [$WARDED_TIMEOUT, else 10s]", 0},
    {"db", 'd', "DIR", 0,
     "Ask no gate: work on the store in this folder, on its host [$WARDED_DB]", 0},
    {"home", 'H', "DIR", 0,
     "Ask no gate: the store of 'warded --home DIR', DIR/state/store [$WARDED_HOME]",
     0},
    {0},
};

/* Where an option's text goes; NULL: it is none of these. */
static const char **gate_place(wd_tokctl *ctl, int key)
{
    switch (key) {
    case 'P':
        return &ctl->gate.profile;
    case OPTION_SERVER:
        return &ctl->gate.server;
    case OPTION_CA:
        return &ctl->gate.ca;
    case OPTION_CERT:
        return &ctl->gate.cert;
    case OPTION_KEY:
        return &ctl->gate.key;
    case OPTION_TOKEN_FILE:
        return &ctl->gate.token;
    case OPTION_POLICY:
        return &ctl->gate.policy;
    default:
        return NULL;
    }
}

static void check_server(const char *value, const struct argp_state *state)
{
    wd_servers servers;
    wd_error err;
    if (wd_servers_parse(value, &servers, &err) != WD_OK)
        argp_error(state, "--server: %s", err.msg);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): argp's signature */
static error_t parse_where(int key, char *value, struct argp_state *state)
{
    wd_tokctl *ctl = state->input;
    const char **place = gate_place(ctl, key);
    if (place != NULL) {
        if (key == OPTION_SERVER)
            check_server(value, state);
        *place = value;
        ctl->gate_asked = true;
        return 0;
    }
    switch (key) {
    case OPTION_TIMEOUT:
        ctl->timeout = value;
        return 0;
    case 'd':
        ctl->db = value;
        ctl->home = NULL; /* over $WARDED_HOME */
        ctl->offline_asked = true;
        return 0;
    case 'H':
        ctl->home = value;
        ctl->db = NULL; /* over $WARDED_DB */
        ctl->offline_asked = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp wd_tokctl_where_argp = {where_options, parse_where, NULL, NULL,
                                          NULL,          NULL,        NULL};

/* --- how it is shown -------------------------------------------------------------------- */

static const struct argp_option output_options[] = {
    {"output", 'o', "FORMAT", 0,
     "table (for people), wide (more columns), json (an array), jsonl (a line a "
     "record), csv, or name (ids alone) [$WARDED_OUTPUT, else table]",
     0},
    {"field", OPTION_FIELD, "NAME", 0,
     "Print this member of each record alone, as it is in JSON: --field expires_ms", 0},
    {"no-headers", OPTION_NO_HEADERS, NULL, 0, "Without the line of titles", 0},
    {"quiet", 'q', NULL, 0, "Say nothing on standard error but failures", 0},
    {"yes", 'y', NULL, 0, "Do not ask: go on", 0},
    {"dry-run", OPTION_DRY_RUN, NULL, 0, "Say what would be done, change nothing", 0},
    {NULL, 'h', NULL, OPTION_HIDDEN, "The same as --help", 0},
    {0},
};

bool wd_tokctl_format(const char *text, wd_format *ret_format)
{
    static const char *const names[] = {"table", "wide", "json",
                                        "jsonl", "csv",  "name"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i], text) == 0) {
            *ret_format = (wd_format)i;
            return true;
        }
    }
    return false;
}

static error_t parse_output(int key, char *value, struct argp_state *state)
{
    wd_tokctl *ctl = state->input;
    switch (key) {
    case 'o':
        if (!wd_tokctl_format(value, &ctl->format))
            wd_tokctl_misuse(state, "-o %s: table, wide, json, jsonl, csv or name",
                             value);
        return 0;
    case OPTION_FIELD:
        ctl->field = value;
        return 0;
    case OPTION_NO_HEADERS:
        ctl->no_headers = true;
        return 0;
    case 'q':
        ctl->quiet = true;
        return 0;
    case 'y':
        ctl->yes = true;
        return 0;
    case OPTION_DRY_RUN:
        ctl->dry_run = true;
        return 0;
    case 'h':
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread of ours */
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp wd_tokctl_output_argp = {output_options, parse_output, NULL, NULL,
                                           NULL,           NULL,         NULL};

/* --- all of a verb's --------------------------------------------------------------------- */

typedef struct verb_input {
    wd_tokctl *ctl; /* first of every verb's input */
} verb_input;

static void refuse(const wd_tokctl *ctl, const char *text)
{
    wd_error err;
    (void)wd_fail(&err, WD_INVALID_ARGUMENT, "%s", text);
    wd_tokctl_usage(ctl, &err);
}

/* A gate or a store: what was said in so many words, else what the environment says. */
static void settle_where(const wd_verb *verb, wd_tokctl *ctl)
{
    int size = 0;
    if ((verb->flags & WD_VERB_ALONE) != 0)
        return;
    if (ctl->offline_asked && ctl->gate_asked)
        refuse(ctl, "--db and --home ask no gate: not with --profile, --server, ...");
    if (ctl->gate_asked)
        ctl->db = ctl->home = NULL;
    const bool offline = ctl->db != NULL || ctl->home != NULL;
    if (ctl->offline_asked && (verb->flags & WD_VERB_OFFLINE) == 0)
        refuse(ctl, "only a gate can answer this: not with --db or --home");
    if (offline && (verb->flags & WD_VERB_OFFLINE) == 0)
        ctl->db = ctl->home = NULL;
    if (!offline && ctl->exports != NULL)
        refuse(ctl, "--exports is for --db and --home: a gate has its own folder, "
                    "audit.export_dir");
    if (!offline && ctl->ca != NULL)
        refuse(ctl, "--ca is for --db and --home: a gate checks by its own CA");
    if (ctl->db != NULL)
        size = snprintf(ctl->dir, sizeof(ctl->dir), "%s", ctl->db);
    else if (ctl->home != NULL)
        size = snprintf(ctl->dir, sizeof(ctl->dir), "%s/state/store", ctl->home);
    if (size < 0 || (size_t)size >= sizeof(ctl->dir))
        refuse(ctl, "the store's path is too long");
}

static void settle_timeout(wd_tokctl *ctl)
{
    wd_error err = {0};
    int64_t ms = TIMEOUT_MS;
    if (ctl->timeout != NULL &&
        wd_span_parse("--timeout", ctl->timeout, &ms, &err) != WD_OK)
        wd_tokctl_usage(ctl, &err);
    ctl->timeout_ms = (uint64_t)ms;
}

/* The verb's own argp stands between its children: this one hands inputs out. */
typedef struct family {
    const wd_verb *verb;
    void *input;
} family;

enum { CHILD_OWN, CHILD_OUTPUT, CHILD_MORE, CHILD_WHERE, N_CHILDREN };

/* NOLINTNEXTLINE(readability-non-const-parameter): argp's signature */
static error_t hand_out(int key, char *value, struct argp_state *state)
{
    const family *f = state->input;
    (void)value;
    if (key != ARGP_KEY_INIT)
        return ARGP_ERR_UNKNOWN;
    wd_tokctl *ctl = ((verb_input *)f->input)->ctl;
    size_t at = 0;
    state->child_inputs[at++] = f->input;
    state->child_inputs[at++] = ctl;
    if (f->verb->more != NULL)
        state->child_inputs[at++] = (char *)f->input + f->verb->more_offset;
    if ((f->verb->flags & WD_VERB_ALONE) == 0)
        state->child_inputs[at++] = ctl;
    return 0;
}

/* Those of shared options that are not the verb's are not in its help; they are parsed
 * all the same, to be refused in so many words. */
static struct argp for_verb(const wd_verb *verb, const struct argp *shared,
                            struct argp_option copies[SHARED_MOST])
{
    struct argp same = *shared;
    size_t n = 0;
    for (; shared->options[n].name != NULL || shared->options[n].key != 0; n++) {
        WD_ASSERT(n + 1 < SHARED_MOST);
        copies[n] = shared->options[n];
        if (!wd_verb_knows(verb, &copies[n]))
            copies[n].flags |= OPTION_HIDDEN;
    }
    copies[n] = shared->options[n];
    same.options = copies;
    return same;
}

static void parse(const wd_verb *verb, int argc, char **argv, void *input)
{
    struct argp_option output_copies[SHARED_MOST];
    struct argp_option where_copies[SHARED_MOST];
    const struct argp own = {verb->options, verb->parser, NULL, NULL, NULL, NULL, NULL};
    const struct argp output = for_verb(verb, &wd_tokctl_output_argp, output_copies);
    const struct argp where = for_verb(verb, &wd_tokctl_where_argp, where_copies);
    struct argp_child children[N_CHILDREN + 1] = {{&own, 0, NULL, 0},
                                                  {&output, 0, "Output:", 8}};
    size_t n = 2;
    if (verb->more != NULL)
        children[n++] = (struct argp_child){verb->more, 0, verb->more_title, 5};
    if ((verb->flags & WD_VERB_ALONE) == 0)
        children[n++] = (struct argp_child){&where, 0, "Who answers:", 9};
    const struct argp argp = {NULL,     hand_out, verb->args, verb->doc,
                              children, NULL,     NULL};
    family f = {verb, input};
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread of ours */
    (void)argp_parse(&argp, argc, argv, 0, NULL, &f);
}

void wd_tokctl_parse(const wd_verb *verb, int argc, char **argv, void *input)
{
    wd_tokctl *ctl = ((verb_input *)input)->ctl;
    char help[] = "--help";
    ctl->verb = argv[0];
    if (argc == 2 && strcmp(argv[1], "help") == 0)
        argv[1] = help;
    parse(verb, argc, argv, input);
    settle_where(verb, ctl);
    settle_timeout(ctl);
    if (ctl->dry_run && (verb->flags & WD_VERB_DRY_RUN) == 0)
        refuse(ctl, "this verb has no --dry-run");
}
