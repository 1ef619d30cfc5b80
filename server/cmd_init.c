/* warded init - everything a first start needs, in one step. */
#include "proto/c/clock.h"
#include "proto/c/mask.h"
#include "proto/c/sha256.h"
#include "server/cmd.h"
#include "server/config_sample.h"
#include "server/naming.h"
#include "server/pieces.h"
#include "server/profile.h"
#include "server/signals.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define ADMIN_TTL_MS (24LL * 3600 * 1000)
#define MADE_MAX     16

typedef struct init {
    /* asked for */
    const char *home;
    const char *url;
    const char *user;
    const char *owner;
    const char *gate_id;
    int64_t admin_ttl_ms;
    /* worked out */
    char self[64];
    wd_places places;
    wd_config *config;
    char *yaml;
    wd_owner gate_user; /* WD_OWNER_SELF unless we are root */
    wd_owner gate_group;
    wd_ca *ca;
    char gate_uri[WD_URI_BYTES + 1];
    wd_profile_made admin;
    char *made[MADE_MAX]; /* to be removed if a later step fails */
    size_t n_made;
    wd_error *err;
} init;

static wd_span text_span(const char *text)
{
    return (wd_span){(const uint8_t *)text, strlen(text)};
}

/* --- steps -------------------------------------------------------------------------- */

/* The configuration is written as text, then read as any other: what it says holds. */
static wd_status plan(init *in)
{
    size_t size = 0;
    bool root = getuid() == 0;
    if (in->user == NULL && !root && wd_account_name(in->self, sizeof(in->self)))
        in->user = in->self;
    if (in->user == NULL)
        in->user = "warded";
    FILE *out = open_memstream(&in->yaml, &size);
    if (out == NULL)
        return wd_fail(in->err, WD_INTERNAL, "out of memory");
    wd_config_sample_write(out, &(wd_sample){in->user, in->url});
    if (fclose(out) != 0)
        return wd_fail(in->err, WD_INTERNAL, "out of memory");
    WD_TRY(wd_places_init(&in->places, in->home, in->err));
    WD_TRY(wd_config_parse(&in->places, in->yaml, size, &in->config, in->err));
    in->gate_user = WD_OWNER_SELF;
    in->gate_group = WD_OWNER_SELF;
    if (!root)
        return WD_OK;
    unsigned uid = 0;
    unsigned gid = 0;
    WD_TRY(wd_config_find_user(in->config, &uid, &gid, in->err));
    in->gate_user = (wd_owner){uid, gid};
    in->gate_group = (wd_owner){0, gid};
    return WD_OK;
}

static wd_status refuse_overwrite(init *in)
{
    return wd_pieces_refuse(&in->places, in->err);
}

static wd_status folder(init *in, const char *path, mode_t mode, wd_owner owner)
{
    struct stat st;
    bool there = lstat(path, &st) == 0;
    if (there && S_ISDIR(st.st_mode))
        return WD_OK; /* a parent, or an empty place prepared by a package */
    WD_TRY(wd_make_folder(path, mode, owner, in->err));
    WD_ASSERT(in->n_made < MADE_MAX);
    in->made[in->n_made] = strdup(path);
    in->n_made += in->made[in->n_made] != NULL;
    return WD_OK;
}

static wd_status folder_above(init *in, const char *path)
{
    WD_AUTO(wd_text) *parent = strdup(path);
    char *slash = parent != NULL ? strrchr(parent, '/') : NULL;
    if (slash == NULL || slash == parent)
        return WD_OK;
    *slash = '\0';
    return folder(in, parent, 0755, WD_OWNER_SELF);
}

static wd_status make_folders(init *in)
{
    const wd_places *p = &in->places;
    bool root = getuid() == 0;
    WD_TRY(folder_above(in, p->config_file));
    WD_TRY(folder(in, p->state_dir, 0755, WD_OWNER_SELF));
    WD_TRY(folder(in, p->ca_dir, 0700, WD_OWNER_SELF));
    WD_TRY(folder(in, p->gate_dir, root ? 0750 : 0700, in->gate_group));
    WD_TRY(folder(in, p->store_dir, 0700, in->gate_user));
    WD_TRY(folder(in, p->run_dir, root ? 01770 : 0700, in->gate_group));
    return folder(in, p->profile_dir, 0755, WD_OWNER_SELF);
}

static wd_status check_reachable(init *in)
{
    if (in->gate_user.uid == (uid_t)-1)
        return WD_OK;
    WD_AUTO(wd_text) *blocked =
        wd_path_blocked(in->places.gate_dir, in->gate_user.uid, in->gate_user.gid);
    if (blocked != NULL)
        return wd_fail(
            in->err, WD_FAILED_PRECONDITION,
            "the gate's user \"%s\" may not enter %s: chmod o+x it, choose a "
            "--home elsewhere (under /var/tmp, say), or another --user",
            in->user, blocked);
    return WD_OK;
}

static wd_status make_ca(init *in)
{
    char name[64];
    char host[WD_SPIFFE_SEGMENT_BYTES];
    wd_segment_of_host(host);
    (void)snprintf(name, sizeof(name), "Warded CA of %.48s", host);
    WD_TRY(wd_ca_create(in->places.ca_dir, name, WD_CA_VALID_MS, in->err));
    return wd_ca_load(in->places.ca_dir, &in->ca, in->err);
}

static wd_status name_gate(init *in, wd_spiffe *ret_parts)
{
    *ret_parts =
        (wd_spiffe){.kind = WD_SPIFFE_GATE, .domain = "warded.local", .ns = "default"};
    if (in->owner != NULL && strlen(in->owner) < sizeof(ret_parts->owner))
        (void)snprintf(ret_parts->owner, sizeof(ret_parts->owner), "%s", in->owner);
    else if (in->owner == NULL)
        wd_segment_of_user(ret_parts->owner);
    if (in->gate_id != NULL && strlen(in->gate_id) < sizeof(ret_parts->name))
        (void)snprintf(ret_parts->name, sizeof(ret_parts->name), "%s", in->gate_id);
    else if (in->gate_id == NULL)
        wd_segment_of_host(ret_parts->name);
    return wd_uri_make(ret_parts, in->gate_uri, in->err);
}

static bool is_ip(const char *host)
{
    return strchr(host, ':') != NULL || strspn(host, "0123456789.") == strlen(host);
}

static wd_status put_gate(init *in, const char *path, wd_span content, mode_t mode)
{
    return wd_write_new(path, content, mode, in->gate_group, in->err);
}

static wd_status make_gate(init *in)
{
    wd_spiffe parts;
    char endpoints[WD_ENDPOINTS_BYTES];
    char asserted[64];
    const char *host = in->config->listen.host;
    const char *dns[2] = {"localhost", host};
    const char *ips[3] = {"127.0.0.1", "::1", host};
    bool extra = strcmp(host, "*") != 0 && strcmp(host, "localhost") != 0 &&
                 strcmp(host, "127.0.0.1") != 0 && strcmp(host, "::1") != 0;
    int64_t now = wd_clock_wall_ms(wd_clock_system());
    WD_TRY(name_gate(in, &parts));
    wd_endpoints_make(in->config, endpoints);
    (void)snprintf(asserted, sizeof(asserted), "init local:%u", (unsigned)getuid());
    wd_leaf_spec leaf = {.uri = in->gate_uri,
                         .not_before_ms = now - WD_NOT_BEFORE_MS,
                         .not_after_ms = now + WD_GATE_VALID_MS,
                         .dns = dns,
                         .n_dns = extra && !is_ip(host) ? 2 : 1,
                         .ips = ips,
                         .n_ips = extra && is_ip(host) ? 3 : 2};
    leaf.fact[WD_FACT_CREATOR] = parts.owner;
    leaf.fact[WD_FACT_NAMESPACE] = parts.ns;
    leaf.fact[WD_FACT_ENDPOINT] = endpoints;
    leaf.fact[WD_FACT_ASSERTED_BY] = asserted;
    wd_pem_pair pair = {0};
    mode_t secret = getuid() == 0 ? 0640 : 0600;
    wd_status status = wd_ca_issue(in->ca, &leaf, &pair, in->err);
    if (status == WD_OK)
        status =
            put_gate(in, in->config->identity.ca, text_span(wd_ca_pem(in->ca)), 0644);
    if (status == WD_OK)
        status = put_gate(in, in->config->identity.cert, text_span(pair.cert), 0644);
    if (status == WD_OK)
        status = put_gate(in, in->config->identity.key, text_span(pair.key), secret);
    wd_pem_pair_done(&pair);
    return status;
}

static wd_status make_digest_key(init *in)
{
    uint8_t key[32];
    wd_random(key, sizeof(key));
    wd_status status =
        put_gate(in, in->config->identity.digest_key, (wd_span){key, sizeof(key)},
                 getuid() == 0 ? 0640 : 0600);
    wd_wipe(key, sizeof(key));
    return status;
}

static wd_status make_store(init *in)
{
    WD_AUTO(wd_store) *store = NULL;
    wd_store_options options = {.dir = in->config->store.path,
                                .create = true,
                                .reserve_bytes = in->config->audit.reserve_bytes};
    WD_TRY(wd_act_as(in->gate_user.uid, in->gate_user.gid, in->err));
    wd_status status = wd_store_open(&options, &store, in->err);
    wd_store_close(WD_STEAL(store));
    wd_act_as_self();
    return status;
}

static wd_status make_admin(init *in)
{
    WD_AUTO(wd_text) *dir = wd_path_join(in->places.profile_dir, "admin");
    if (dir == NULL)
        return wd_fail(in->err, WD_INTERNAL, "out of memory");
    wd_profile_spec spec = {.dir = dir,
                            .name = "admin",
                            .kind = WD_TOKEN_ADMIN,
                            .scopes = wd_admin_scopes,
                            .n_scopes = WD_ADMIN_SCOPES,
                            .ttl_ms = in->admin_ttl_ms,
                            .files = WD_OWNER_SELF};
    WD_TRY(wd_profile_make(in->config, in->ca, &spec, &in->admin, in->err));
    WD_ASSERT(in->n_made < MADE_MAX);
    in->made[in->n_made++] = WD_STEAL(dir);
    return WD_OK;
}

static wd_status write_configuration(init *in)
{
    return wd_write_new(in->places.config_file, text_span(in->yaml), 0644,
                        WD_OWNER_SELF, in->err);
}

/* In this order; the configuration last: where it is, everything is. */
static wd_status (*const steps[])(init *) = {
    plan,      refuse_overwrite, make_folders, check_reachable, make_ca,
    make_gate, make_digest_key,  make_store,   make_admin,      write_configuration,
};

/* --- the command -------------------------------------------------------------------- */

static void report(const init *in)
{
    char ttl[32];
    const wd_places *p = &in->places;
    WD_AUTO(wd_text) *flag = NULL;
    if (p->home == NULL || asprintf(&flag, " --home %s", p->home) < 0)
        flag = NULL;
    const char *at = flag != NULL ? flag : "";
    wd_duration_format(in->admin_ttl_ms, ttl, sizeof(ttl));
    printf("configuration  %s\n", p->config_file);
    printf("CA             %s (keep it: who has ca.key makes identities)\n", p->ca_dir);
    printf("gate           %s\n               %s, listens at %s\n", p->gate_dir,
           in->gate_uri, in->config->listen.url);
    printf("store          %s (user %s)\n", p->store_dir, in->user);
    printf(
        "admin profile  %s/admin\n               token %s, good for %s; afterwards, "
        "with the gate stopped:\n               warded%s profile new admin2 --admin\n",
        p->profile_dir, in->admin.token_id, ttl, at);
    printf("\nNext, an identity for a trainer, then the gate:\n"
           "  warded%s profile new trainer --scope observe:python_code\n"
           "  warded%s serve\n",
           at, at);
}

static void undo(init *in)
{
    for (size_t i = in->n_made; i-- > 0;)
        wd_remove_tree(in->made[i]);
}

static void done(init *in)
{
    for (size_t i = 0; i < in->n_made; i++)
        free(in->made[i]);
    wd_ca_free(in->ca);
    wd_config_free(in->config);
    wd_places_done(&in->places);
    free(in->yaml);
}

/* All or nothing is there when a signal acts. */
static int run(init *in)
{
    sigset_t before;
    int status = WD_EXIT_OK;
    wd_signals_hold(&before);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && status == 0; i++)
        if (steps[i](in) != WD_OK)
            status = wd_cmd_fail("warded init", in->err);
    if (status == WD_EXIT_OK)
        report(in);
    else
        undo(in);
    (void)fflush(stdout);
    wd_signals_release(&before);
    return status;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    init *in = state->input;
    char shown[WD_SHOWN_BYTES];
    wd_error err = {0};
    switch (key) {
    case 'l':
        in->url = value;
        return 0;
    case 'u':
        in->user = value;
        return 0;
    case 'o':
        in->owner = value;
        return 0;
    case 'g':
        in->gate_id = value;
        return 0;
    case 't':
        if (wd_duration_parse("--admin-ttl", value, &in->admin_ttl_ms, &err) != WD_OK)
            argp_error(state, "%s", err.msg);
        if (in->admin_ttl_ms > WD_TOKEN_TTL_MAX_MS)
            argp_error(state, "--admin-ttl: %s: at most 30d", wd_shown(value, shown));
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected: %s", wd_shown(value, shown));
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int wd_cmd_init(const char *home, int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"listen", 'l', "URL", 0,
         "Where the gate listens [tls+tcp://127.0.0.1:7443]; port 0: any free one", 0},
        {"user", 'u', "NAME", 0, "Account that the gate runs as [warded, or yourself]",
         0},
        {"owner", 'o', "NAME", 0, "Whose the gate is, in its identity [your account]",
         0},
        {"gate-id", 'g', "NAME", 0, "The gate's name in its identity [this host's]", 0},
        {"admin-ttl", 't', "TIME", 0, "Life of the admin token [24h], at most 30d", 0},
        {0},
    };
    const struct argp argp = {options,
                              parse_option,
                              NULL,
                              "Make CA, gate certificate, store, admin profile and "
                              "configuration in one step. Overwrites nothing; what a "
                              "failed run made is removed again.",
                              NULL,
                              NULL,
                              NULL};
    wd_error err = {0};
    init in = {.home = home,
               .url = "tls+tcp://127.0.0.1:7443",
               .admin_ttl_ms = ADMIN_TTL_MS,
               .err = &err};
    wd_command_parse(&argp, argc, argv, &in);
    int status = run(&in);
    done(&in);
    return status;
}
