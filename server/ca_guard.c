#include "server/ca_guard.h"

#include "proto/c/cleanup.h"
#include "proto/tls/issue.h"
#include "server/places.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOT_OURS "others can reach the key that makes identities"

typedef struct guard_rule {
    mode_t kind;
    const char *kind_text;
    unsigned cure; /* the mode it should have */
} guard_rule;

static const guard_rule folder_rule = {S_IFDIR, "folder", 0700};
static const guard_rule key_rule = {S_IFREG, "regular file", 0600};

/* An account that may not enter the folder can't say more of the key, nor need it. */
static bool out_of_sight(int why)
{
    return why == ENOENT || (why == EACCES && geteuid() != 0);
}

static wd_status judge(const char *path, const guard_rule *rule, wd_error *err)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return out_of_sight(errno) ? WD_OK
                                   : wd_fail(err, WD_FAILED_PRECONDITION, "%s: %s",
                                             path, strerror(errno));
    if ((st.st_mode & S_IFMT) != rule->kind)
        return wd_fail(err, WD_FAILED_PRECONDITION, "%s is no %s: put the CA's back",
                       path, rule->kind_text);
    if ((st.st_mode & 077) != 0)
        return wd_fail(err, WD_PERMISSION_DENIED,
                       "%s has mode %04o: " NOT_OURS ": chmod %04o it", path,
                       (unsigned)(st.st_mode & 07777), rule->cure);
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return wd_fail(err, WD_PERMISSION_DENIED,
                       "%s belongs to uid %u: " NOT_OURS ": chown %u it", path,
                       (unsigned)st.st_uid, (unsigned)geteuid());
    return WD_OK;
}

wd_status wd_ca_guard(const char *ca_dir, wd_error *err)
{
    WD_AUTO(wd_text) *key = wd_path_join(ca_dir, WD_CA_KEY_FILE);
    if (key == NULL)
        return wd_fail(err, WD_INTERNAL, "out of memory");
    WD_TRY(judge(ca_dir, &folder_rule, err));
    return judge(key, &key_rule, err);
}
