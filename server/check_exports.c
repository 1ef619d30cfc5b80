#include "server/check_exports.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/c/cleanup.h"
#include "server/files.h"

#define NAME   "audit.export_dir"
#define OTHERS 0022 /* may write */
#define CURE                                                                           \
    ": nothing will be pruned; `install -d -o %.64s -m 0700 %.300s`, or set " NAME     \
    " to a folder that this account may write to"

/* 0, or the errno of what the gate's account can't do. */
static int try_file(const char *folder)
{
    WD_AUTO(wd_text) *name = NULL;
    if (asprintf(&name, "%s/.check-XXXXXX", folder) < 0)
        return ENOMEM;
    WD_AUTO_FD int fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0)
        return errno;
    return unlink(name) == 0 ? 0 : errno;
}

static int try_parent(const char *folder)
{
    char parent[PATH_MAX];
    (void)snprintf(parent, sizeof(parent), "%s", folder);
    char *slash = strrchr(parent, '/');
    if (slash == NULL)
        return ENOENT;
    slash[slash == parent] = '\0'; /* of "/x" it is "/" */
    return faccessat(AT_FDCWD, parent, W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

/* What the account finds: 0 or an errno; *ret_st is of the folder where it is there. */
static int look(const char *folder, struct stat *ret_st, bool *ret_there)
{
    *ret_there = stat(folder, ret_st) == 0;
    if (!*ret_there)
        return errno == ENOENT ? try_parent(folder) : errno;
    if (!S_ISDIR(ret_st->st_mode))
        return ENOTDIR;
    return try_file(folder);
}

static void cannot(wd_check *c, const char *doing, int error)
{
    char text[WD_CHECK_TEXT_BYTES];
    const char *folder = c->config->audit.export_dir;
    const char *user = c->config->user;
    (void)snprintf(text, sizeof(text), "%.300s: %s: %s" CURE, folder, doing,
                   strerror(error), user, folder);
    wd_check_warn(c, NAME, text);
}

static void others(wd_check *c, const struct stat *st)
{
    char text[WD_CHECK_TEXT_BYTES];
    const char *folder = c->config->audit.export_dir;
    (void)snprintf(text, sizeof(text),
                   "%.300s can be written to by others (mode %04o), who could take an "
                   "export away: nothing will be pruned; chmod go-w it, or set " NAME
                   " to another folder",
                   folder, st->st_mode & 07777);
    wd_check_warn(c, NAME, text);
}

void wd_check_exports(wd_check *c)
{
    struct stat st = {.st_mode = 0};
    bool there = false;
    wd_error err = {0};
    if (c->no_files != NULL) {
        wd_check_untried(c, NAME, c->no_files);
        return;
    }
    if (wd_act_as(c->uid, c->gid, &err) != WD_OK) {
        wd_check_untried(c, NAME, err.msg);
        return;
    }
    int error = look(c->config->audit.export_dir, &st, &there);
    wd_act_as_self();
    if (error != 0)
        cannot(c, there ? "can't be written to" : "can't be made", error);
    else if (there && (st.st_mode & OTHERS) != 0)
        others(c, &st);
    else
        wd_check_good(c, NAME, c->config->audit.export_dir);
}
