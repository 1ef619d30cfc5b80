/* tokctl issue - a token, its secret to a file or to standard output, once. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proto/c/clock.h"
#include "store/tokctl/times.h"
#include "store/tokctl/tokctl.h"
#include "store/tokctl/views.h"
#include "store/tokens.h"

enum option_key {
    OPTION_TTL = 256,
    OPTION_NOT_BEFORE,
    OPTION_OWNER,
    OPTION_PURPOSE,
    OPTION_AUDIENCE,
    OPTION_UNBOUND,
    OPTION_ADMIN,
    OPTION_OUT,
};

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    wd_token_spec spec;
    const char *scopes[WD_SCOPES_COUNT];
    const char *ttl;
    const char *not_before;
    const char *out;
} arguments;

static const struct argp_option options[] = {
    {"scope", 's', "AREA:OBJECT", 0,
     "What it allows; once for each scope: observe:python_code, env:*, token:issue, "
     "audit:read",
     0},
    {"bind", 'b', "uri:SPIFFE-ID", 0, "The client whose certificate must come with it",
     0},
    {"ttl", OPTION_TTL, "SPAN", 0, "How long it holds [1h; --admin: 15m], at most 30d",
     0},
    {"not-before", OPTION_NOT_BEFORE, "TIME", 0, "From when on: a time, or +1h [now]",
     0},
    {"owner", OPTION_OWNER, "NAME", 0, "Whose it is, for people and filters", 0},
    {"purpose", OPTION_PURPOSE, "TEXT", 0, "What it is for, for people", 0},
    {"audience", OPTION_AUDIENCE, "GLOB", 0, "Only for gates whose URI is like this",
     0},
    {"unbound", OPTION_UNBOUND, NULL, 0,
     "Works for whoever has it, a thief included; flagged for ever", 0},
    {"admin", OPTION_ADMIN, NULL, 0, "A token of kind admin (wda1_)", 0},
    {"out", OPTION_OUT, "FILE", 0, "The secret to a new file of mode 0600", 0},
    {0},
};

static const char doc[] =
    "Make a token. Its secret is told this once: to standard output, or to --out; its "
    "id, "
    "which is no secret, to standard error.\v"
    "  tokctl issue trainer --scope observe:python_code \\\n"
    "    --bind uri:spiffe://warded.local/ns/default/owner/ann/client/trainer \\\n"
    "    --ttl 8h --out trainer/token\n\n"
    "The gate must not be running on this store (exit status 5). With one running, a "
    "client whose token has the scope token:issue calls its Token.Issue: in Python, "
    "warded.v1.TokenStub(warded.connect()).Issue(...); or stop it for the moment.";

static void add_scope(arguments *args, const char *scope, struct argp_state *state)
{
    if (args->spec.n_scopes == WD_SCOPES_COUNT)
        wd_tokctl_misuse(state, "more than %u scopes", WD_SCOPES_COUNT);
    args->scopes[args->spec.n_scopes++] = scope;
}

static error_t parse_text(int key, const char *value, arguments *args)
{
    switch (key) {
    case OPTION_TTL:
        args->ttl = value;
        return 0;
    case OPTION_NOT_BEFORE:
        args->not_before = value;
        return 0;
    case OPTION_OWNER:
        args->spec.owner = value;
        return 0;
    case OPTION_PURPOSE:
        args->spec.purpose = value;
        return 0;
    case OPTION_AUDIENCE:
        args->spec.audience = value;
        return 0;
    case OPTION_OUT:
        args->out = value;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_name(const char *name, arguments *args, struct argp_state *state)
{
    if (args->spec.name != NULL)
        wd_tokctl_misuse(state, "one NAME, not also \"%s\"", name);
    args->spec.name = name;
    return 0;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->ctl;
        return 0;
    case 's':
        add_scope(args, value, state);
        return 0;
    case 'b':
        args->spec.bind = value;
        return 0;
    case OPTION_UNBOUND:
        args->spec.allow_unbound = true;
        return 0;
    case OPTION_ADMIN:
        args->spec.kind = WD_TOKEN_ADMIN;
        return 0;
    case ARGP_KEY_ARG:
        return parse_name(value, args, state);
    case ARGP_KEY_NO_ARGS:
        wd_tokctl_misuse(state, "a NAME is missing");
    default:
        return parse_text(key, value, args);
    }
}

static wd_status settle(arguments *args, wd_error *err)
{
    wd_token_spec *spec = &args->spec;
    int64_t now = wd_clock_wall_ms(wd_clock_system());
    spec->scopes = args->scopes;
    if (args->ttl != NULL)
        WD_TRY(wd_span_parse("--ttl", args->ttl, &spec->ttl_ms, err));
    if (args->not_before != NULL)
        WD_TRY(wd_time_parse("--not-before", args->not_before, now,
                             &spec->not_before_ms, err));
    if (spec->bind != NULL && spec->allow_unbound)
        return wd_fail(err, WD_INVALID_ARGUMENT, "--bind or --unbound, not both");
    if (spec->allow_unbound)
        spec->bind = "unbound";
    if (spec->bind == NULL)
        return wd_fail(
            err, WD_INVALID_ARGUMENT,
            "--bind uri:spiffe://... says whose certificate must come with it");
    if (spec->kind == WD_TOKEN_ADMIN && args->out == NULL && isatty(STDOUT_FILENO) == 0)
        return wd_fail(
            err, WD_INVALID_ARGUMENT,
            "the secret of an admin token goes to a terminal or to --out FILE, "
            "not into a pipe");
    return WD_OK;
}

/* Before the token is made: a secret that has nowhere to go must not exist. */
static wd_status open_out(const char *path, int *ret_fd, wd_error *err)
{
    if (path == NULL)
        return WD_OK;
    *ret_fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (*ret_fd < 0)
        return wd_fail(err,
                       errno == EEXIST ? WD_FAILED_PRECONDITION : WD_PERMISSION_DENIED,
                       "--out %s: %s", path, strerrordesc_np(errno));
    return WD_OK;
}

static wd_status write_out(const char *path, int fd, const wd_token_text *text,
                           wd_error *err)
{
    if (fd < 0)
        return WD_OK;
    if (write(fd, text->chars, WD_TOKEN_CHARS) != (ssize_t)WD_TOKEN_CHARS ||
        write(fd, "\n", 1) != 1 || fsync(fd) != 0)
        return wd_fail(err, WD_UNAVAILABLE,
                       "the token was made, but --out %s could not be written (%s): "
                       "revoke it",
                       path, strerrordesc_np(errno));
    return WD_OK;
}

static bool print(const arguments *args, const wd_token_issued *issued)
{
    const char *secret = args->out == NULL ? issued->text.chars : NULL;
    if (args->ctl->format == WD_FORMAT_TABLE)
        return secret == NULL || (puts(secret) >= 0 && fflush(stdout) == 0);
    json_t *view = wd_token_view(issued->token, issued->token->created_ms);
    if (secret != NULL)
        (void)json_object_set_new(view, "token", json_string(secret));
    return wd_output_one(args->ctl->format, wd_token_members, view);
}

static wd_status issue(const arguments *args, int fd, wd_token_issued *issued,
                       wd_error *err)
{
    WD_AUTO(wd_store) *store = NULL;
    char principal[32];
    wd_tokctl_principal(principal, sizeof(principal));
    WD_TRY(wd_tokctl_open(args->ctl, &store, err));
    WD_TRY(wd_tokens_issue_now(store, &args->spec, principal, issued, err));
    return write_out(args->out, fd, &issued->text, err);
}

int wd_tokctl_issue(wd_tokctl *ctl, int argc, char **argv)
{
    const wd_tokctl_args shape = {options, parse, "NAME", doc, NULL};
    arguments args = {.ctl = ctl};
    WD_AUTO_ISSUED issued = {0};
    WD_AUTO_FD int fd = -1;
    wd_error err = {0};
    wd_tokctl_parse(&shape, argc, argv, &args);
    if (settle(&args, &err) != WD_OK)
        wd_tokctl_usage(ctl, &err);
    if (open_out(args.out, &fd, &err) != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    if (issue(&args, fd, &issued, &err) != WD_OK) {
        if (fd >= 0 && issued.token == NULL)
            (void)unlink(args.out);
        return wd_tokctl_fail(ctl, &err);
    }
    (void)fprintf(stderr, "id: %s\n", issued.token->id);
    return print(&args, &issued) ? WD_EXIT_OK : WD_EXIT_FAILED;
}
