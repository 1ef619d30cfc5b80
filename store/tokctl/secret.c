#include "store/tokctl/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proto/c/cleanup.h"
#include "proto/c/sha256.h"
#include "proto/tls/credentials.h"
#include "store/tokctl/interrupt.h"

wd_status wd_secret_open(const wd_tokctl *ctl, const char *path, bool admin,
                         wd_secret_out *ret, wd_error *err)
{
    *ret = (wd_secret_out){.ctl = ctl, .path = path, .fd = -1};
    if (path == NULL && admin && isatty(STDOUT_FILENO) == 0)
        return wd_fail(
            err, WD_INVALID_ARGUMENT,
            "the secret of an admin token goes to a terminal or to --out FILE, "
            "not into a pipe");
    if (path == NULL)
        return WD_OK;
    ret->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (ret->fd < 0)
        return wd_fail(err,
                       errno == EEXIST ? WD_FAILED_PRECONDITION : WD_PERMISSION_DENIED,
                       "--out %s: %s", path, strerrordesc_np(errno));
    wd_interrupt_guard(ctl->interrupt, path);
    return WD_OK;
}

wd_status wd_secret_write(wd_secret_out *out, const char *secret, wd_error *err)
{
    const size_t size = strlen(secret);
    if (out->fd < 0)
        return WD_OK;
    if (write(out->fd, secret, size) != (ssize_t)size || write(out->fd, "\n", 1) != 1 ||
        fsync(out->fd) != 0)
        return wd_fail(err, WD_INTERNAL,
                       "the token was made, but --out %s could not be written (%s): "
                       "revoke it",
                       out->path, strerrordesc_np(errno));
    wd_interrupt_guard(out->ctl->interrupt, NULL);
    return WD_OK;
}

void wd_secret_close(wd_secret_out *out, bool made)
{
    if (out->fd < 0)
        return;
    (void)close(out->fd);
    out->fd = -1;
    if (!made)
        (void)unlink(out->path);
    wd_interrupt_guard(out->ctl->interrupt, NULL);
}

bool wd_secret_is_printed(const wd_secret_out *out)
{
    return out->path == NULL;
}

static wd_status open_in(const char *path, FILE **ret, wd_error *err)
{
    if (strcmp(path, "-") == 0) {
        *ret = fdopen(dup(STDIN_FILENO), "r");
        return *ret != NULL ? WD_OK : wd_fail(err, WD_INTERNAL, "no standard input");
    }
    WD_TRY(wd_secret_file_check(path, err));
    *ret = fopen(path, "re");
    if (*ret == NULL)
        return wd_fail(err, WD_PERMISSION_DENIED, "%s: %s", path,
                       strerrordesc_np(errno));
    return WD_OK;
}

wd_status wd_secret_read(const char *path, wd_token_text *ret, wd_error *err)
{
    char line[256];
    wd_token_name name;
    WD_AUTO_FILE FILE *file = NULL;
    WD_TRY(open_in(path, &file, err));
    (void)setvbuf(file, NULL, _IONBF, 0); /* no copy of it stays behind */
    bool some = fgets(line, sizeof(line), file) != NULL;
    if (some)
        line[strcspn(line, " \t\r\n")] = '\0';
    bool whole = some && wd_token_parse(line, &name);
    if (whole)
        memcpy(ret->chars, line, sizeof(ret->chars));
    wd_wipe(line, sizeof(line));
    if (whole)
        return WD_OK;
    return wd_fail(err, WD_INVALID_ARGUMENT,
                   "%s holds no whole token: 64 characters, their check digits right",
                   strcmp(path, "-") == 0 ? "standard input" : path);
}
