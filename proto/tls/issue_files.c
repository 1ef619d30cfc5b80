#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "proto/tls/ca.h"
#include "proto/tls/credentials.h"
#include "proto/tls/pem_file.h"

enum { BACKDATE_MS = 65 * 60 * 1000 }; /* for peers whose clock is an hour behind */

static wd_status path_of(const char *dir, const char *file, char ret[PATH_MAX],
                         wd_error *err)
{
    int size = snprintf(ret, PATH_MAX, "%s/%s", dir, file);

    if (size >= 0 && size < PATH_MAX)
        return WD_OK;
    return wd_fail(err, WD_INVALID_ARGUMENT, "the path of %s is too long", file);
}

/* Key first: a certificate without its key is the worse half to be left with. */
static wd_status write_pair(const wd_pem_pair *pair, const char *key_path,
                            const char *cert_path, wd_error *err)
{
    wd_status status;

    if (access(cert_path, F_OK) == 0)
        return wd_fail(err, WD_FAILED_PRECONDITION, "%s is already there", cert_path);
    WD_TRY(wd_pem_file_write(key_path, true, pair->key, err));
    status = wd_pem_file_write(cert_path, false, pair->cert, err);
    if (status != WD_OK)
        (void)unlink(key_path);
    return status;
}

wd_status wd_ca_save(const wd_ca *ca, const char *dir, wd_error *err)
{
    const wd_pem_pair pair = {ca->cert_pem, ca->key_pem};
    char cert[PATH_MAX], key[PATH_MAX];

    WD_TRY(path_of(dir, WD_CA_CERT_FILE, cert, err));
    WD_TRY(path_of(dir, WD_CA_KEY_FILE, key, err));
    return write_pair(&pair, key, cert, err);
}

wd_status wd_ca_create(const char *dir, const char *name, int64_t valid_ms,
                       wd_error *err)
{
    const int64_t now_ms = (int64_t)time(NULL) * 1000;
    WD_AUTO(wd_ca) *ca = NULL;

    WD_TRY(wd_ca_new(name, now_ms - BACKDATE_MS, now_ms + valid_ms, &ca, err));
    return wd_ca_save(ca, dir, err);
}

wd_status wd_ca_load(const char *dir, wd_ca **ret, wd_error *err)
{
    char cert_path[PATH_MAX], key_path[PATH_MAX];
    WD_AUTO(wd_text) *cert = NULL;
    WD_AUTO(wd_secret_text) *key = NULL;
    wd_error why;
    wd_status status;

    WD_TRY(path_of(dir, WD_CA_CERT_FILE, cert_path, err));
    WD_TRY(path_of(dir, WD_CA_KEY_FILE, key_path, err));
    WD_TRY(wd_secret_file_check(key_path, err));
    WD_TRY(wd_pem_file_read(cert_path, &cert, err));
    WD_TRY(wd_pem_file_read(key_path, &key, err));
    status = wd_ca_adopt(WD_STEAL(cert), WD_STEAL(key), ret, &why);
    return status == WD_OK
               ? WD_OK
               : wd_fail(err, status, "%s with %s: %s", cert_path, key_path, why.msg);
}
