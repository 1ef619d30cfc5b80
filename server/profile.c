#include "server/profile.h"

#include "proto/c/clock.h"
#include "server/naming.h"
#include "server/run_lock.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What one folder is made of. */
typedef struct maker {
    const wd_config *config;
    const wd_profile_spec *spec;
    wd_identity gate;
    char uri[WD_URI_BYTES + 1];
    char *folder; /* the temporary one */
    char principal[32];
    wd_store *store; /* from when the token is made until all is done or undone */
    unsigned uid;    /* whose it is */
    unsigned gid;
    wd_error *err;
} maker;

static wd_span text_span(const char *text)
{
    return (wd_span){(const uint8_t *)text, strlen(text)};
}

static wd_status name_client(maker *m)
{
    wd_spiffe parts = m->gate.parsed;
    parts.kind = WD_SPIFFE_CLIENT;
    if (!wd_spiffe_segment_ok(m->spec->name))
        return wd_fail(m->err, WD_INVALID_ARGUMENT,
                       "NAME: \"%.80s\": allowed: a-z 0-9 . _ -, a letter or digit "
                       "first, at most 63",
                       m->spec->name);
    (void)snprintf(parts.name, sizeof(parts.name), "%s", m->spec->name);
    if (m->spec->owner != NULL)
        (void)snprintf(parts.owner, sizeof(parts.owner), "%s", m->spec->owner);
    return wd_uri_make(&parts, m->uri, m->err);
}

static wd_status put(const maker *m, const char *name, wd_span content, mode_t mode)
{
    WD_AUTO(wd_text) *path = wd_path_join(m->folder, name);
    if (path == NULL)
        return wd_fail(m->err, WD_INTERNAL, "out of memory");
    return wd_write_new(path, content, mode, m->spec->files, m->err);
}

static wd_status put_certificate(const maker *m, const wd_ca *ca)
{
    int64_t now = wd_clock_wall_ms(wd_clock_system());
    wd_leaf_spec leaf = {.uri = m->uri,
                         .not_before_ms = now - WD_NOT_BEFORE_MS,
                         .not_after_ms = now + WD_CLIENT_VALID_MS};
    wd_pem_pair pair = {0};
    wd_status status = wd_ca_issue(ca, &leaf, &pair, m->err);
    if (status == WD_OK)
        status = put(m, "ca.pem", text_span(wd_ca_pem(ca)), 0644);
    if (status == WD_OK)
        status = put(m, "cert.pem", text_span(pair.cert), 0644);
    if (status == WD_OK)
        status = put(m, "key.pem", text_span(pair.key), 0600);
    wd_pem_pair_done(&pair);
    return status;
}

static wd_status put_facts(const maker *m, wd_profile_made *made)
{
    char text[WD_URI_BYTES + 32];
    char address[256];
    (void)snprintf(text, sizeof(text), "gate %s\n", m->gate.uri);
    WD_TRY(put(m, "policy", text_span(text), 0644));
    made->has_server = wd_address_of(m->config, address, sizeof(address));
    if (!made->has_server)
        return WD_OK;
    (void)snprintf(text, sizeof(text), "%s\n", address);
    return put(m, "server", text_span(text), 0644);
}

/* Only a process that is seen to run is said to run. */
static wd_status refuse_in_use(const maker *m)
{
    wd_error held = *m->err;
    if (wd_run_holder(m->config->places.run_dir) > 0)
        return wd_refuse(
            m->err, WD_REASON_CONFLICT,
            "%s. A profile is made while the gate is stopped: stop 'warded serve' "
            "(SIGTERM drains it), make the profile, start it again; a running gate "
            "issues tokens (Token.Issue), but no certificates",
            held.msg);
    return wd_refuse(m->err, WD_REASON_CONFLICT,
                     "%s. A profile is made while nothing else has the store",
                     held.msg);
}

/* The store is the gate user's: acting as root would leave files that it can't open. */
static wd_status open_store(maker *m)
{
    wd_store_options options = {.dir = m->config->store.path,
                                .reserve_bytes = m->config->audit.reserve_bytes};
    WD_TRY(wd_config_find_user(m->config, &m->uid, &m->gid, m->err));
    WD_TRY(wd_act_as(m->uid, m->gid, m->err));
    wd_status status = wd_store_open(&options, &m->store, m->err);
    wd_act_as_self();
    if (status != WD_OK && m->err->reason == WD_REASON_CONFLICT)
        return refuse_in_use(m);
    return status;
}

static void close_store(maker *m)
{
    if (m->store == NULL || wd_act_as(m->uid, m->gid, NULL) != WD_OK)
        return;
    wd_store_close(WD_STEAL(m->store));
    wd_act_as_self();
}

static wd_status issue_token(const maker *m, wd_token_issued *ret_issued)
{
    char bind[WD_URI_BYTES + 8];
    (void)snprintf(bind, sizeof(bind), "uri:%s", m->uri);
    wd_token_spec token = {.kind = m->spec->kind,
                           .name = m->spec->name,
                           .owner = m->spec->owner != NULL ? m->spec->owner
                                                           : m->gate.parsed.owner,
                           .purpose = "profile",
                           .audience = m->gate.uri,
                           .scopes = m->spec->scopes,
                           .n_scopes = m->spec->n_scopes,
                           .bind = bind,
                           .ttl_ms = m->spec->ttl_ms};
    WD_TRY(wd_act_as(m->uid, m->gid, m->err));
    wd_status status =
        wd_tokens_issue_now(m->store, &token, m->principal, ret_issued, m->err);
    wd_act_as_self();
    return status;
}

static wd_status revoke_token(const maker *m, const char *id, wd_error *err)
{
    bool was_live = false;
    const wd_token_revocation back = {id, "its profile could not be made",
                                      m->principal};
    WD_TRY(wd_act_as(m->uid, m->gid, err));
    wd_status status = wd_tokens_revoke_now(m->store, &back, &was_live, err);
    wd_act_as_self();
    return status;
}

/* A token that nobody holds does not stay good; where it must, its id is told. */
static void take_token_back(const maker *m, const char *id)
{
    wd_error why = {0};
    wd_error first = *m->err;
    if (id[0] == '\0' || revoke_token(m, id, &why) == WD_OK)
        return;
    (void)wd_fail(m->err, first.status,
                  "%.250s; and token %s, which nobody holds, stays good (%.120s): "
                  "'tokctl revoke %s'",
                  first.msg, id, why.msg, id);
    m->err->reason = first.reason;
}

/* With this file a client renews its token by itself; only data tokens may. */
static wd_status put_expires(const maker *m, const wd_token *token)
{
    char text[64];
    if (token->kind != WD_TOKEN_DATA)
        return WD_OK;
    (void)snprintf(text, sizeof(text), "%lld %lld\n", (long long)token->not_before_ms,
                   (long long)wd_token_expires_ms(token));
    return put(m, "expires", text_span(text), 0644);
}

static wd_status put_token(const maker *m, wd_profile_made *made)
{
    WD_AUTO_ISSUED issued = {0};
    WD_TRY(issue_token(m, &issued));
    (void)snprintf(made->token_id, sizeof(made->token_id), "%s", issued.token->id);
    made->token_expires_ms = wd_token_expires_ms(issued.token);
    WD_TRY(put_expires(m, issued.token));
    return put(m, "token", text_span(issued.text.chars), 0600);
}

static wd_status fill(maker *m, const wd_ca *ca, wd_profile_made *made)
{
    WD_TRY(put_certificate(m, ca));
    WD_TRY(put_facts(m, made));
    WD_TRY(open_store(m));
    WD_TRY(put_token(m, made)); /* last: only a whole folder has a live token */
    WD_AUTO_FD int fd = open(m->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || (m->spec->files.uid != (uid_t)-1 &&
                   fchown(fd, m->spec->files.uid, m->spec->files.gid) != 0))
        return wd_fail(m->err, WD_PERMISSION_DENIED, "%s: %s", m->spec->dir,
                       strerror(errno));
    if (renameat2(AT_FDCWD, m->folder, AT_FDCWD, m->spec->dir, RENAME_NOREPLACE) != 0)
        return wd_fail(m->err, WD_PERMISSION_DENIED, "%s: %s", m->spec->dir,
                       strerror(errno));
    return WD_OK;
}

wd_status wd_profile_make(const wd_config *config, const wd_ca *ca,
                          const wd_profile_spec *spec, wd_profile_made *ret_made,
                          wd_error *err)
{
    maker m = {.config = config, .spec = spec, .err = err};
    struct stat st;
    memset(ret_made, 0, sizeof(*ret_made));
    if (lstat(spec->dir, &st) == 0)
        return wd_refuse(err, WD_REASON_CONFLICT,
                         "%s is there already; nothing was overwritten: choose another "
                         "NAME or --out, or remove it",
                         spec->dir);
    WD_TRY(wd_identity_read_file(config->identity.cert, &m.gate, err));
    WD_TRY(name_client(&m));
    WD_AUTO(wd_text) *folder = NULL;
    if (asprintf(&folder, "%s.XXXXXX", spec->dir) < 0)
        return wd_fail(err, WD_INTERNAL, "out of memory");
    if (mkdtemp(folder) == NULL)
        return wd_fail(err, WD_PERMISSION_DENIED, "%s: %s%s", spec->dir,
                       strerror(errno), wd_rights_cure(errno));
    m.folder = folder;
    (void)snprintf(m.principal, sizeof(m.principal), "local:%u", (unsigned)getuid());
    (void)snprintf(ret_made->uri, sizeof(ret_made->uri), "%s", m.uri);
    wd_status status = fill(&m, ca, ret_made);
    if (status != WD_OK) {
        take_token_back(&m, ret_made->token_id);
        wd_remove_tree(folder);
    }
    close_store(&m);
    return status;
}
