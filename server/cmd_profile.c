/* warded profile new NAME - an identity for a client: certificate, token, folder. */
#include "proto/c/mask.h"
#include "server/cmd.h"
#include "server/naming.h"
#include "server/profile.h"
#include "server/signals.h"
#include "store/scope.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define OBSERVE "observe" /* the area of scopes whose objects are tools */

typedef struct request {
    wd_profile_spec spec;
    const char *scopes[WD_SCOPES_COUNT];
    const char *out;
    const char *account;
    bool ttl_given;
} request;

static error_t add_scope(request *r, char *value, struct argp_state *state)
{
    char shown[WD_SHOWN_BYTES];
    if (!wd_scope_valid(value))
        argp_error(state,
                   "--scope: \"%s\": allowed: AREA:OBJECT, such as "
                   "observe:python_code or observe:*",
                   wd_shown(value, shown));
    if (r->spec.n_scopes == WD_SCOPES_COUNT)
        argp_error(state, "--scope: at most %u", WD_SCOPES_COUNT);
    r->scopes[r->spec.n_scopes++] = value;
    return 0;
}

static error_t set_ttl(request *r, const char *value, struct argp_state *state)
{
    char shown[WD_SHOWN_BYTES];
    wd_error err = {0};
    if (wd_duration_parse("--ttl", value, &r->spec.ttl_ms, &err) != WD_OK)
        argp_error(state, "%s", err.msg);
    if (r->spec.ttl_ms > WD_TOKEN_TTL_MAX_MS)
        argp_error(state, "--ttl: %s: at most 30d", wd_shown(value, shown));
    r->ttl_given = true;
    return 0;
}

static error_t set_name(request *r, const char *value, struct argp_state *state)
{
    char shown[WD_SHOWN_BYTES];
    if (state->arg_num == 0 && strcmp(value, "new") == 0)
        return 0;
    if (state->arg_num == 0)
        argp_error(state, "unknown: \"%s\"; there is 'profile new NAME'",
                   wd_shown(value, shown));
    if (state->arg_num > 1)
        argp_error(state, "unexpected: %s", wd_shown(value, shown));
    r->spec.name = value;
    return 0;
}

static error_t check_request(request *r, struct argp_state *state)
{
    if (r->spec.name == NULL)
        argp_error(state, "say 'profile new NAME'");
    if (r->spec.kind == WD_TOKEN_ADMIN && r->spec.n_scopes == 0)
        for (size_t i = 0; i < WD_ADMIN_SCOPES; i++)
            r->scopes[r->spec.n_scopes++] = wd_admin_scopes[i];
    if (r->spec.n_scopes == 0)
        argp_error(state, "--scope is missing: what may it do? Such as --scope "
                          "observe:python_code");
    if (!r->ttl_given)
        r->spec.ttl_ms = r->spec.kind == WD_TOKEN_ADMIN ? WD_TOKEN_TTL_ADMIN_MS
                                                        : WD_TOKEN_TTL_DATA_MS;
    return 0;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    request *r = state->input;
    switch (key) {
    case 's':
        return add_scope(r, value, state);
    case 't':
        return set_ttl(r, value, state);
    case 'O':
        r->out = value;
        return 0;
    case 'o':
        r->spec.owner = value;
        return 0;
    case 'c':
        r->account = value;
        return 0;
    case 'a':
        r->spec.kind = WD_TOKEN_ADMIN;
        return 0;
    case ARGP_KEY_ARG:
        return set_name(r, value, state);
    case ARGP_KEY_END:
        return check_request(r, state);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static wd_status find_account(request *r, wd_error *err)
{
    r->spec.files = WD_OWNER_SELF;
    if (r->account == NULL)
        return WD_OK;
    const struct passwd *found = getpwnam(r->account);
    if (found == NULL)
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "--chown: there is no account \"%.80s\"", r->account);
    r->spec.files = (wd_owner){found->pw_uid, found->pw_gid};
    return WD_OK;
}

static bool names_a_tool(const wd_config *config, const char *scope)
{
    char asked[WD_SCOPE_BYTES + 64];
    for (size_t i = 0; i < config->n_tools; i++) {
        (void)snprintf(asked, sizeof(asked), OBSERVE ":%s", config->tools[i].name);
        if (wd_scope_covers(scope, asked))
            return true;
    }
    return false;
}

/* A slip of the pen, or a tool that comes later: said, not refused. */
static void warn_of_scopes(const wd_config *config, const request *r)
{
    for (size_t i = 0; i < r->spec.n_scopes; i++) {
        const char *scope = r->scopes[i];
        if (!wd_scope_of_area(scope, OBSERVE) || names_a_tool(config, scope))
            continue;
        (void)fprintf(stderr,
                      "warded profile: warning: --scope %s allows no tool of %s, which "
                      "has:",
                      scope, config->places.config_file);
        for (size_t t = 0; t < config->n_tools; t++)
            (void)fprintf(stderr, " " OBSERVE ":%s", config->tools[t].name);
        (void)fputc('\n', stderr);
    }
}

static wd_status make(const wd_config *config, request *r, wd_profile_made *made,
                      wd_error *err)
{
    WD_AUTO(wd_ca) *ca = NULL;
    WD_TRY(find_account(r, err));
    if (r->out == NULL)
        WD_TRY(wd_ensure_folder(config->places.profile_dir, 0755, WD_OWNER_SELF, err));
    WD_TRY(wd_ca_load(config->places.ca_dir, &ca, err));
    return wd_profile_make(config, ca, &r->spec, made, err);
}

static void report(const request *r, const wd_profile_made *made)
{
    char until[32] = "";
    time_t seconds = (time_t)(made->token_expires_ms / 1000);
    struct tm utc;
    if (gmtime_r(&seconds, &utc) != NULL)
        (void)strftime(until, sizeof(until), "%Y-%m-%d %H:%M:%SZ", &utc);
    printf("profile  %s\nidentity %s\ntoken    %s, until %s:", r->spec.dir, made->uri,
           made->token_id, until);
    for (size_t i = 0; i < r->spec.n_scopes; i++)
        printf(" %s", r->scopes[i]);
    printf("\n");
    if (!made->has_server)
        printf(
            "\nThere is no 'server' file in it: the port is chosen at start. When the "
            "gate runs,\ncopy run/address there.\n");
}

/* All or nothing is there when a signal acts. */
static int run(const wd_config *config, request *r)
{
    sigset_t before;
    wd_error err = {0};
    wd_profile_made made = {0};
    int status = WD_EXIT_OK;
    wd_signals_hold(&before);
    if (make(config, r, &made, &err) == WD_OK)
        report(r, &made);
    else
        status = wd_cmd_fail("warded profile", &err);
    (void)fflush(stdout);
    wd_signals_release(&before);
    return status;
}

int wd_cmd_profile(const char *home, int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"scope", 's', "SCOPE", 0, "What it may do; repeat for more", 0},
        {"ttl", 't', "TIME", 0, "Life of the token [1h; with --admin 15m], at most 30d",
         0},
        {"out", 'O', "DIR", 0, "The folder to make [profile/NAME]", 0},
        {"owner", 'o', "NAME", 0, "Owner in its identity [the gate's]", 0},
        {"chown", 'c', "ACCOUNT", 0, "Whose the files are [yours]", 0},
        {"admin", 'a', NULL, 0, "An admin token: it issues, revokes, reads the record",
         0},
        {0},
    };
    const struct argp argp = {
        options,
        parse_option,
        "new NAME",
        "Make a folder with all that a client needs: server, CA, certificate, key, "
        "token "
        "(one secret, kept nowhere else) and policy. Needs the CA's key and the store, "
        "so the gate must be stopped for the moment (exit status 5: it runs): stop "
        "'warded serve', make the profile, start it again.\v"
        "Example:\n  warded --home DIR profile new trainer --scope observe:python_code "
        "--ttl 7d\n  WARDED_PROFILE=DIR/profile/trainer python3 rollout.py",
        NULL,
        NULL,
        NULL};
    int exit_status = WD_EXIT_OK;
    request r = {.spec = {.kind = WD_TOKEN_DATA}};
    r.spec.scopes = r.scopes;
    wd_command_parse(&argp, argc, argv, &r);
    WD_AUTO(wd_config) *config = wd_cmd_load("warded profile", home, &exit_status);
    if (config == NULL)
        return exit_status;
    WD_AUTO(wd_text) *dir = r.out != NULL
                                ? strdup(r.out)
                                : wd_path_join(config->places.profile_dir, r.spec.name);
    r.spec.dir = dir;
    if (dir == NULL)
        return wd_cmd_fail("warded profile",
                           &(wd_error){.status = WD_INTERNAL, .msg = "out of memory"});
    exit_status = run(config, &r);
    if (exit_status == WD_EXIT_OK)
        warn_of_scopes(config, &r);
    return exit_status;
}
