/* warded check - tries what a start needs, and prints it: there or not, why, the cure. */
#include "proto/c/clock.h"
#include "proto/c/sha256.h"
#include "proto/tls/credentials.h"
#include "proto/tls/engine.h"
#include "server/ca_guard.h"
#include "server/check.h"
#include "server/check_exports.h"
#include "server/cmd.h"
#include "server/descriptors.h"
#include "server/executor/probe.h"
#include "server/files.h"
#include "server/gate_boot.h"
#include "server/port_try.h"
#include "server/run_lock.h"
#include "store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define EXPIRY_WARN_MS (30LL * 24 * 3600 * 1000)
#define MS_A_DAY       (24LL * 3600 * 1000)

/* --- credentials -------------------------------------------------------------------- */

/* Load as the gate will: as its user, from its files. */
static wd_status load_credentials(const wd_check *c, wd_tls_credentials **ret,
                                  wd_error *err)
{
    WD_TRY(wd_act_as(c->uid, c->gid, err));
    wd_status status = wd_gate_load_credentials(c->config, ret, err);
    wd_act_as_self();
    return status;
}

static void check_credentials(wd_check *c)
{
    wd_error err = {0};
    WD_AUTO(wd_tls_credentials) *credentials = NULL;
    if (c->no_files != NULL) {
        wd_check_untried(c, "credentials", c->no_files);
        return;
    }
    if (load_credentials(c, &credentials, &err) != WD_OK) {
        wd_check_bad(c, "credentials", err.msg);
        return;
    }
    const wd_identity *identity = wd_tls_credentials_identity(credentials);
    int64_t left = identity->not_after_ms - wd_clock_wall_ms(wd_clock_system());
    char text[WD_URI_BYTES + 64];
    (void)snprintf(text, sizeof(text), "%s, %" PRId64 " days left", identity->uri,
                   (int64_t)(left / MS_A_DAY));
    if (left < EXPIRY_WARN_MS)
        wd_check_warn(c, "credentials", text);
    else
        wd_check_good(c, "credentials", text);
}

static wd_status load_digest_key(const wd_check *c, wd_error *err)
{
    uint8_t key[WD_SHA256_BYTES];
    WD_TRY(wd_act_as(c->uid, c->gid, err));
    wd_status status = wd_gate_load_digest_key(c->config, key, err);
    wd_act_as_self();
    wd_wipe(key, sizeof(key));
    return status;
}

static void check_digest_key(wd_check *c)
{
    wd_error err = {0};
    if (c->no_files != NULL)
        wd_check_untried(c, "digest key", c->no_files);
    else if (load_digest_key(c, &err) != WD_OK)
        wd_check_bad(c, "digest key", err.msg);
    else
        wd_check_good(c, "digest key", c->config->identity.digest_key);
}

/* The CA's key is not needed here, but nobody else may have it. */
static void check_ca(wd_check *c)
{
    wd_error err = {0};
    const char *dir = c->config->places.ca_dir;
    if (wd_ca_guard(dir, &err) != WD_OK)
        wd_check_bad(c, "CA", err.msg);
    else if (access(dir, F_OK) != 0 && errno == ENOENT)
        wd_check_good(c, "CA", "not on this host: no new profiles from here");
    else
        wd_check_good(c, "CA", dir);
}

/* --- store -------------------------------------------------------------------------- */

static wd_status open_store(const wd_check *c, wd_error *err)
{
    WD_AUTO(wd_store) *store = NULL;
    wd_store_options options = {.dir = c->config->store.path,
                                .reserve_bytes = c->config->audit.reserve_bytes};
    WD_TRY(wd_act_as(c->uid, c->gid, err));
    wd_status status = wd_store_open(&options, &store, err);
    wd_store_close(WD_STEAL(store));
    wd_act_as_self();
    return status;
}

static void check_store(wd_check *c)
{
    wd_error err = {0};
    if (c->no_files != NULL) {
        wd_check_untried(c, "store", c->no_files);
        return;
    }
    wd_status status = open_store(c, &err);
    if (status == WD_OK)
        wd_check_good(c, "store", c->config->store.path);
    else if (err.reason == WD_REASON_CONFLICT && c->running > 0)
        wd_check_good(c, "store", "in use by a running gate");
    else
        wd_check_bad(c, "store", err.msg);
}

/* A start needs the reserve, which opening the store makes; without as much again it
 * starts, and only reads and revokes. */
static void check_room(wd_check *c)
{
    struct statvfs vfs;
    char text[WD_ERROR_MSG_BYTES];
    const char *path = c->config->store.path;
    if (statvfs(path, &vfs) != 0) {
        (void)snprintf(text, sizeof(text), "%.400s: %s", path, strerror(errno));
        wd_check_bad(c, "store room", text);
        return;
    }
    uint64_t room = (uint64_t)vfs.f_bavail * vfs.f_frsize;
    uint64_t least = c->config->audit.reserve_bytes;
    (void)snprintf(text, sizeof(text),
                   "%" PRIu64 " MiB free; audit.reserve_bytes is %" PRIu64 " MiB%s",
                   room >> 20, least >> 20,
                   room < least ? ": what changes anything is refused "
                                  "(AUDIT_UNWRITABLE) until there is more; free some, "
                                  "or lower it"
                                : "");
    if (room < least)
        wd_check_warn(c, "store room", text);
    else
        wd_check_good(c, "store room", text);
}

/* --- listen ------------------------------------------------------------------------- */

static wd_status try_port(const wd_check *c, wd_error *err)
{
    WD_TRY(wd_act_as(c->uid, c->gid, err));
    wd_status status = wd_port_try(c->config->listen.host, c->config->listen.port, err);
    wd_act_as_self();
    return status;
}

static void check_listen(wd_check *c)
{
    wd_error err = {0};
    char text[WD_CHECK_TEXT_BYTES];
    const char *url = c->config->listen.url;
    if (c->running > 0) {
        wd_check_untried(c, "listen.url", "'warded serve' runs here and has it");
        return;
    }
    if (try_port(c, &err) == WD_OK) {
        wd_check_good(c, "listen.url", url);
        return;
    }
    (void)snprintf(text, sizeof(text), "%.300s: %s", url, err.msg);
    if (err.reason == WD_REASON_CONFLICT && c->running == WD_RUN_HIDDEN)
        wd_check_untried(c, "listen.url",
                         "it is in use, maybe by a 'warded serve' that runs here");
    else
        wd_check_bad(c, "listen.url", text);
}

/* The limit is this shell's; that of a service may be another. */
static void check_descriptors(wd_check *c)
{
    char text[WD_CHECK_TEXT_BYTES];
    uint64_t limit = wd_files_hard();
    if (wd_files_tell(limit, c->config->limits.connections_per_principal, text,
                      sizeof(text)))
        wd_check_good(c, "descriptors", text);
    else if (limit < WD_FILES_LEAST)
        wd_check_bad(c, "descriptors", text);
    else
        wd_check_warn(c, "descriptors", text);
}

/* --- account, engine, sandbox ------------------------------------------------------- */

static void check_running(wd_check *c)
{
    char text[WD_ERROR_MSG_BYTES];
    const char *run_dir = c->config->places.run_dir;
    c->running = wd_run_holder(run_dir);
    if (c->running == 0)
        return;
    if (c->running == WD_RUN_HIDDEN) {
        (void)snprintf(text, sizeof(text), "uid %u may not look at %.300s/lock%s",
                       (unsigned)getuid(), run_dir, wd_rights_cure(EACCES));
        wd_check_untried(c, "running", text);
        return;
    }
    (void)snprintf(text, sizeof(text),
                   "'warded serve' runs here, as process %d; see 'warded health'",
                   (int)c->running);
    wd_check_good(c, "running", text);
}

/* An ordinary account can look at its own place only: then all else is not tried. */
static void refuse_user(wd_check *c, const char *blocked)
{
    char text[WD_ERROR_MSG_BYTES];
    if (getuid() != 0) {
        (void)snprintf(
            text, sizeof(text),
            "uid %u may not enter %.300s: run this as root, as 'warded serve' "
            "is",
            c->uid, blocked);
        c->no_files = c->no_layers = "it takes root";
    } else {
        (void)snprintf(text, sizeof(text), "%.64s may not enter %.300s: chmod o+x it",
                       c->config->user, blocked);
        c->no_files = "the gate's account can't reach its files";
    }
    wd_check_bad(c, "user", text);
}

static void check_user(wd_check *c)
{
    wd_error err = {0};
    unsigned uid = getuid();
    unsigned gid = getgid();
    if (getuid() == 0 && wd_config_find_user(c->config, &uid, &gid, &err) != WD_OK) {
        wd_check_bad(c, "user", err.msg);
        c->no_files = "the gate has no account";
        return;
    }
    c->uid = uid;
    c->gid = gid;
    WD_AUTO(wd_text) *blocked = wd_path_blocked(c->config->identity.key, uid, gid);
    if (blocked != NULL)
        refuse_user(c, blocked);
    else
        wd_check_good(c, "user",
                      getuid() == 0 ? c->config->user : "yourself: not root");
}

static void check_engine(wd_check *c)
{
    wd_error err = {0};
    if (wd_tls_register(&err) != WD_OK)
        wd_check_bad(c, "TLS engine", err.msg);
    else
        wd_check_good(c, "TLS engine", WD_TLS_ENGINE_NAME);
}

static void check_layer(wd_check *c, const wd_layer_state *layer)
{
    char name[64];
    char text[WD_CHECK_TEXT_BYTES];
    (void)snprintf(name, sizeof(name), "sandbox: %.48s", layer->name);
    const char *needs = wd_probe_untried(layer);
    if (layer->active) {
        wd_check_good(c, name, layer->detail);
        return;
    }
    if (needs != NULL) {
        wd_check_untried(c, name, needs);
        return;
    }
    bool own_cure = wd_layer_blames_setting(layer->detail);
    (void)snprintf(text, sizeof(text), "%s%s%s", layer->detail,
                   own_cure ? "" : "; cure: ", own_cure ? "" : layer->cure);
    if (layer->mandatory)
        wd_check_bad(c, name, text);
    else
        wd_check_warn(c, name, text);
}

static void refuse_all(wd_check *c, const char *why)
{
    char text[WD_CHECK_TEXT_BYTES];
    (void)snprintf(text, sizeof(text), "%s", why);
    wd_layer_add_cure(text, sizeof(text));
    wd_check_bad(c, "sandbox", text);
}

/* The canary is warded-execd's, at its start. Where no layer could be tried, what is in
 * the way is one fact. */
static void check_layers(wd_check *c)
{
    wd_layer_state layers[WD_LAYER_COUNT];
    if (c->no_layers != NULL) {
        wd_check_untried(c, "sandbox", c->no_layers);
        return;
    }
    wd_probe_layers(c->config, layers);
    const wd_layer_state *missing = wd_probe_missing(layers);
    if (missing != NULL && wd_probe_untried(missing) != NULL)
        refuse_all(c, wd_probe_untried(missing));
    for (size_t i = 0; i < WD_LAYER_COUNT; i++)
        if (layers[i].id != WD_LAYER_CANARY)
            check_layer(c, &layers[i]);
    wd_check_untried(c, "sandbox: canary",
                     "a start alone runs it, in each slot, with the first tool's "
                     "interpreter, and refuses when it does not hold");
}

/* The engine last: NNG's threads must not be there when the layers fork. */
static void (*const checks[])(wd_check *) = {
    check_running, check_user,        check_credentials, check_digest_key,
    check_ca,      check_store,       check_room,        wd_check_exports,
    check_listen,  check_descriptors, check_layers,      check_engine,
};

int wd_cmd_check(const char *home, int argc, char **argv)
{
    const struct argp argp = {
        NULL,
        NULL,
        NULL,
        "Try what 'warded serve' needs: configuration, the gate's account and "
        "credentials, the store, the folder of exports, listen.url, and each layer of "
        "the sandbox; not the "
        "canary, which a start alone runs. Run it as root, as "
        "serve "
        "is. It says so where one runs already. Exit status 0: a start would pass, "
        "once "
        "none runs; 1: not; 78: the configuration is refused.",
        NULL,
        NULL,
        NULL};
    wd_command_parse(&argp, argc, argv, NULL);
    int status = WD_EXIT_OK;
    WD_AUTO(wd_config) *config = wd_cmd_load("warded check", home, &status);
    if (config == NULL)
        return status;
    wd_check c = {.config = config, .out = stdout};
    wd_check_good(&c, "configuration", config->places.config_file);
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
        checks[i](&c);
    return wd_check_sum(&c) == 0 ? WD_EXIT_OK : WD_EXIT_FAILED;
}
