#include "store/tokctl/signing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clients/c/files.h"
#include "proto/c/cleanup.h"
#include "proto/c/sha256.h"

static wd_status read_key(const char *file, wd_own_key **ret, wd_error *err)
{
    wd_failure why;
    wd_error cause;
    char *pem = NULL;
    if (wd_secret_text_read(file, &pem, &why) != WD_OK)
        return wd_fail(err, (wd_status)why.code, "--sign: %s", why.message);
    wd_status status = wd_own_key_read(pem, ret, &cause);
    wd_wipe(pem, strlen(pem));
    free(pem);
    if (status != WD_OK)
        return wd_fail(err, status, "--sign %s: %s", file, cause.msg);
    return WD_OK;
}

static wd_status exists(const char *path, wd_error *err)
{
    return wd_fail(err, WD_FAILED_PRECONDITION, "--sign: %s exists", path);
}

wd_status wd_signing_open(const char *file, const char *out, wd_signing *ret,
                          wd_error *err)
{
    *ret = (wd_signing){.key = NULL};
    if (file == NULL)
        return WD_OK;
    int size = snprintf(ret->path, sizeof(ret->path), "%s.sig", out);
    if (size < 0 || (size_t)size >= sizeof(ret->path))
        return wd_fail(err, WD_INVALID_ARGUMENT, "--out: the path is too long");
    if (!wd_file_absent(ret->path))
        return exists(ret->path, err);
    WD_TRY(read_key(file, &ret->key, err));
    wd_own_key_id(ret->key, ret->key_id);
    return WD_OK;
}

static wd_status put(const char *path, wd_span signature, wd_error *err)
{
    WD_AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST)
        return exists(path, err);
    if (fd >= 0 &&
        write(fd, signature.data, signature.size) == (ssize_t)signature.size &&
        fsync(fd) == 0)
        return WD_OK;
    const int cause = errno;
    if (fd >= 0)
        (void)unlink(path);
    return wd_fail(err, WD_INTERNAL, "--sign: %s: %s", path, strerrordesc_np(cause));
}

wd_status wd_signing_write(const wd_signing *signing,
                           const uint8_t sha256[WD_SHA256_BYTES], wd_error *err)
{
    uint8_t signature[WD_SIGNATURE_BYTES];
    size_t size = 0;
    if (signing->key == NULL)
        return WD_OK;
    WD_TRY(wd_own_key_sign(signing->key, sha256, signature, &size, err));
    return put(signing->path, (wd_span){signature, size}, err);
}

void wd_signing_done(wd_signing *signing)
{
    wd_own_key_free(signing->key);
    signing->key = NULL;
}
