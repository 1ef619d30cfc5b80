#include "clients/c/profile.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "clients/c/files.h"
#include "proto/c/sha256.h"
#include "proto/tls/pem_file.h"

/* The files, in the order of path[]. The token is watched by itself. */
enum { FILE_CA, FILE_CERT, FILE_KEY, FILE_POLICY, FILE_SERVER, FILE_TOKEN, N_FILES };
#define N_WATCHED   FILE_TOKEN
#define CHANGING_NS INT64_C(60000000000) /* a pair may be half replaced for so long */

typedef struct shared {
    wd_credentials credentials; /* first: what holders see */
    atomic_uint refs;
} shared;

struct wd_profile {
    char *path[N_FILES];
    bool policy_named;    /* by an option: then it must be there */
    char *server;         /* an option's text, in place of the file; NULL: the file */
    pthread_mutex_t lock; /* the fields below */
    const wd_credentials *last; /* NULL: none yet */
    wd_stamp stamps[N_WATCHED]; /* of `last` */
    wd_stamp token_stamp;
    wd_token_text token; /* the last good one; "" none */
};

/* --- which files ------------------------------------------------------------------------ */

static char *default_folder(void)
{
    /* NOLINTBEGIN(concurrency-mt-unsafe): read, once, at open */
    const char *named = getenv("WARDED_PROFILE");
    const char *home = getenv("HOME");
    /* NOLINTEND(concurrency-mt-unsafe) */
    char *path = NULL;
    if (named != NULL && named[0] != '\0')
        return strdup(named);
    if (asprintf(&path, "%s/.config/warded/default", home != NULL ? home : "") < 0)
        return NULL;
    return path;
}

static wd_status no_memory(wd_failure *why)
{
    return wd_failure_plain(why, WD_PHASE_PROFILE, WD_RESOURCE_EXHAUSTED,
                            "no memory for the profile");
}

static bool is_whole(const wd_channel_options *o)
{
    return o->server != NULL && o->ca != NULL && o->cert != NULL && o->key != NULL &&
           o->token != NULL;
}

static wd_status set_paths(wd_profile *profile, const wd_channel_options *o,
                           const char *folder, wd_failure *why)
{
    static const char *const names[N_FILES] = {"ca.pem", "cert.pem", "key.pem",
                                               "policy", "server",   "token"};
    const char *const given[N_FILES] = {o->ca,     o->cert, o->key,
                                        o->policy, NULL,    o->token};
    for (size_t i = 0; i < N_FILES; i++) {
        if (given[i] != NULL)
            profile->path[i] = strdup(given[i]);
        else if (asprintf(&profile->path[i], "%s/%s", folder, names[i]) < 0)
            profile->path[i] = NULL;
        if (profile->path[i] == NULL)
            return no_memory(why);
    }
    profile->policy_named = o->policy != NULL;
    profile->server = o->server != NULL ? strdup(o->server) : NULL;
    return o->server != NULL && profile->server == NULL ? no_memory(why) : WD_OK;
}

static wd_status check_folder(const wd_channel_options *options, const char *folder,
                              wd_failure *why)
{
    struct stat st;
    if (is_whole(options) || (stat(folder, &st) == 0 && S_ISDIR(st.st_mode)))
        return WD_OK;
    return wd_failure_plain(
        why, WD_PHASE_PROFILE, WD_NOT_FOUND,
        "%.300s: no such profile; make one with `warded profile new NAME --scope ... "
        "--out DIR`, then set WARDED_PROFILE to it",
        folder);
}

wd_status wd_profile_open(const wd_channel_options *options, wd_profile **ret,
                          wd_failure *why)
{
    const wd_channel_options none = {0};
    const wd_channel_options *o = options != NULL ? options : &none;
    WD_AUTO(wd_text) *folder =
        o->profile != NULL ? strdup(o->profile) : default_folder();
    WD_AUTO(wd_profile) *profile = calloc(1, sizeof(*profile));
    wd_error err = {0};
    wd_servers servers;
    if (folder == NULL || profile == NULL)
        return no_memory(why);
    pthread_mutex_init(&profile->lock, NULL);
    WD_TRY(check_folder(o, folder, why));
    WD_TRY(set_paths(profile, o, folder, why));
    if (o->server != NULL && wd_servers_parse(o->server, &servers, &err) != WD_OK)
        return wd_failure_from(why, WD_PHASE_PROFILE, "the gate to dial", &err);
    *ret = WD_STEAL(profile);
    return WD_OK;
}

void wd_profile_free(wd_profile *profile)
{
    if (profile == NULL)
        return;
    for (size_t i = 0; i < N_FILES; i++)
        free(profile->path[i]);
    free(profile->server);
    wd_credentials_free(profile->last);
    wd_token_text_wipe(&profile->token);
    pthread_mutex_destroy(&profile->lock);
    free(profile);
}

/* --- credentials -------------------------------------------------------------------------- */

static shared *shared_of(const wd_credentials *credentials)
{
    union { /* the holders' view is const, the count is not */
        const wd_credentials *in;
        shared *out;
    } cast = {credentials};
    return cast.out;
}

void wd_credentials_free(const wd_credentials *credentials)
{
    if (credentials == NULL)
        return;
    shared *s = shared_of(credentials);
    if (atomic_fetch_sub(&s->refs, 1) != 1)
        return;
    wd_tls_credentials_free(s->credentials.tls);
    wd_policy_done(&s->credentials.policy);
    free(s);
}

typedef const wd_credentials wd_credentials_ref;
WD_DEFINE_AUTO(wd_credentials_ref, wd_credentials_free)

static wd_status read_servers(const wd_profile *profile, wd_servers *ret,
                              wd_failure *why)
{
    wd_error err = {0};
    WD_AUTO(wd_text) *text = NULL;
    const char *path = profile->path[FILE_SERVER];
    if (profile->server != NULL &&
        wd_servers_parse(profile->server, ret, &err) == WD_OK)
        return WD_OK;
    WD_TRY(wd_text_file_read(path, &text, why));
    if (wd_servers_parse(text, ret, &err) != WD_OK)
        return wd_failure_from(why, WD_PHASE_PROFILE, path, &err);
    return WD_OK;
}

static wd_status read_policy(const wd_profile *profile, wd_policy *ret, wd_failure *why)
{
    wd_error err = {0};
    WD_AUTO(wd_text) *text = NULL;
    const char *path = profile->path[FILE_POLICY];
    if (profile->policy_named || !wd_file_absent(path))
        WD_TRY(wd_text_file_read(path, &text, why));
    if (wd_policy_parse(text, ret, &err) != WD_OK)
        return wd_failure_from(why, WD_PHASE_PROFILE, path, &err);
    return WD_OK;
}

static wd_status make_pair(const wd_tls_pem *texts, wd_credentials *ret,
                           wd_failure *why)
{
    wd_error err = {0};
    if (wd_tls_credentials_make(texts, &ret->tls, &err) != WD_OK)
        return wd_failure_from(why, WD_PHASE_PROFILE, NULL, &err);
    ret->mine = wd_tls_credentials_identity(ret->tls)->parsed;
    if (ret->mine.kind != WD_SPIFFE_CLIENT)
        return wd_failure_plain(
            why, WD_PHASE_PROFILE, WD_INVALID_ARGUMENT,
            "%.300s: its URI is not a client's SPIFFE id; " WD_HOW_TO_MAKE,
            texts->names->cert);
    return WD_OK;
}

static wd_status load_pair(const wd_profile *profile, wd_credentials *ret,
                           wd_failure *why)
{
    const wd_tls_files files = {.ca = profile->path[FILE_CA],
                                .cert = profile->path[FILE_CERT],
                                .key = profile->path[FILE_KEY],
                                .cure_ca = "; copy the gate's ca.pem",
                                .cure_cert = "; " WD_HOW_TO_MAKE,
                                .cure_pair = "; they must be one pair, in PEM, the key "
                                             "not encrypted; " WD_HOW_TO_MAKE};
    WD_AUTO(wd_text) *ca = NULL;
    WD_AUTO(wd_text) *cert = NULL;
    WD_AUTO(wd_secret_text) *key = NULL;
    WD_TRY(wd_text_file_read(files.cert, &cert, why));
    WD_TRY(wd_text_file_read(files.ca, &ca, why));
    WD_TRY(wd_secret_text_read(files.key, &key, why));
    const wd_tls_pem texts = {.ca = ca, .cert = cert, .key = key, .names = &files};
    return make_pair(&texts, ret, why);
}

static wd_status read_trust(const wd_profile *profile, char ret[WD_TRUST_CHARS],
                            wd_failure *why)
{
    uint8_t digest[WD_SHA256_BYTES];
    char text[WD_SHA256_HEX_BYTES];
    WD_AUTO(wd_text) *ca = NULL;
    WD_TRY(wd_text_file_read(profile->path[FILE_CA], &ca, why));
    wd_sha256_of((wd_span){(const uint8_t *)ca, strlen(ca)}, digest);
    wd_hex((wd_span){digest, sizeof(digest)}, text);
    memcpy(ret, text, WD_TRUST_CHARS - 1);
    ret[WD_TRUST_CHARS - 1] = '\0';
    return WD_OK;
}

/* Certificate or key was written so lately that its twin may be on its way. */
static bool is_changing(const wd_profile *profile)
{
    struct timespec now;
    const wd_stamp cert = wd_stamp_of(profile->path[FILE_CERT]);
    const wd_stamp key = wd_stamp_of(profile->path[FILE_KEY]);
    int64_t newest = cert.mtime_ns > key.mtime_ns ? cert.mtime_ns : key.mtime_ns;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
    return (int64_t)(now_ns - (uint64_t)newest) < CHANGING_NS;
}

/* The pair as it is, or the last good one while it is being replaced. */
static wd_status take_pair(const wd_profile *profile, wd_credentials *ret,
                           wd_failure *why)
{
    wd_status status = load_pair(profile, ret, why);
    if (status == WD_OK)
        return read_trust(profile, ret->trust, why);
    if (profile->last == NULL || !is_changing(profile))
        return status;
    wd_tls_credentials_free(ret->tls);
    ret->tls = wd_tls_credentials_ref(profile->last->tls);
    ret->mine = profile->last->mine;
    memcpy(ret->trust, profile->last->trust, sizeof(ret->trust));
    return WD_OK;
}

static wd_status load(wd_profile *profile, wd_failure *why)
{
    wd_stamp stamps[N_WATCHED];
    shared *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return no_memory(why);
    atomic_init(&s->refs, 1);
    WD_AUTO(wd_credentials_ref) *fresh = &s->credentials;
    for (size_t i = 0; i < N_WATCHED; i++)
        stamps[i] = wd_stamp_of(profile->path[i]);
    WD_TRY(read_servers(profile, &s->credentials.servers, why));
    WD_TRY(read_policy(profile, &s->credentials.policy, why));
    WD_TRY(take_pair(profile, &s->credentials, why));
    wd_credentials_free(profile->last);
    profile->last = WD_STEAL(fresh);
    memcpy(profile->stamps, stamps, sizeof(stamps));
    return WD_OK;
}

static bool has_changed(const wd_profile *profile)
{
    for (size_t i = 0; i < N_WATCHED; i++) {
        const wd_stamp now = wd_stamp_of(profile->path[i]);
        if (!wd_stamp_equal(&now, &profile->stamps[i]))
            return true;
    }
    return false;
}

wd_status wd_profile_credentials(wd_profile *profile, const wd_credentials **ret,
                                 wd_failure *why)
{
    wd_status status = WD_OK;
    pthread_mutex_lock(&profile->lock);
    if (profile->last == NULL || has_changed(profile))
        status = load(profile, why);
    if (status == WD_OK) {
        atomic_fetch_add(&shared_of(profile->last)->refs, 1);
        *ret = profile->last;
    }
    pthread_mutex_unlock(&profile->lock);
    return status;
}

bool wd_profile_changed(wd_profile *profile)
{
    pthread_mutex_lock(&profile->lock);
    bool changed = profile->last != NULL && has_changed(profile);
    pthread_mutex_unlock(&profile->lock);
    return changed;
}

/* --- the token ------------------------------------------------------------------------------ */

static void trim(char *text)
{
    size_t lead = strspn(text, " \t\r\n");
    size_t size = strlen(text + lead);
    memmove(text, text + lead, size + 1);
    while (size > 0 && strchr(" \t\r\n", text[size - 1]) != NULL)
        text[--size] = '\0';
}

static wd_status read_token(wd_profile *profile, const wd_stamp *stamp, wd_failure *why)
{
    const char *path = profile->path[FILE_TOKEN];
    wd_token_name name;
    char *text = NULL;
    WD_TRY(wd_text_file_read(path, &text, why));
    trim(text);
    bool good = wd_token_parse(text, &name), empty = text[0] == '\0';
    if (good) {
        memcpy(profile->token.chars, text, sizeof(profile->token.chars));
        profile->token_stamp = *stamp;
    }
    wd_wipe(text, strlen(text));
    free(text);
    if (good || profile->token.chars[0] != '\0')
        return WD_OK;
    return wd_failure_make(
        why, WD_PHASE_AUTH, empty ? WD_REASON_TOKEN_MISSING : WD_REASON_TOKEN_MALFORMED,
        "%.300s %s; write one there with `tokctl issue` or `warded profile new`; not "
        "sent",
        path, empty ? "is empty" : "holds no whole token");
}

wd_status wd_profile_token(wd_profile *profile, wd_token_text *ret, wd_failure *why)
{
    const char *path = profile->path[FILE_TOKEN];
    const wd_stamp stamp = wd_stamp_of(path);
    wd_status status = WD_OK;
    WD_TRY(wd_secret_look(path, why));
    pthread_mutex_lock(&profile->lock);
    if (profile->token.chars[0] == '\0' ||
        !wd_stamp_equal(&stamp, &profile->token_stamp))
        status = read_token(profile, &stamp, why);
    if (status == WD_OK)
        *ret = profile->token;
    pthread_mutex_unlock(&profile->lock);
    return status;
}
