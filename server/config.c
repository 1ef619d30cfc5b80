#include "server/config.h"

#include "server/config_keys.h"
#include "server/config_rules.h"
#include "server/config_value.h"
#include "server/config_yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_BYTES (1U << 20)

/* What one load works with. */
typedef struct loader {
    const wd_places *places;
    const wd_yaml *yaml;
    const wd_key *keys;
    size_t n_keys;
    char *folder; /* of the file */
    wd_config *config;
    wd_error *err;
} loader;

static bool is_tool_key(const wd_key *key)
{
    return strncmp(key->name, WD_KEY_TOOLS, strlen(WD_KEY_TOOLS)) == 0;
}

/* Put "FILE:LINE: " before what an error says. */
static wd_status locate(const loader *l, const char *culprit, wd_status status)
{
    if (l->err == NULL)
        return status;
    char msg[WD_ERROR_MSG_BYTES];
    size_t line = culprit != NULL ? wd_yaml_line(l->yaml, culprit) : 0;
    (void)snprintf(msg, sizeof(msg), "%s", l->err->msg);
    if (line > 0)
        return wd_fail(l->err, status, "%s:%zu: %s", l->places->config_file, line, msg);
    return wd_fail(l->err, status, "%s: %s", l->places->config_file, msg);
}

static wd_status set_keys(const loader *l, void *object, size_t tool, bool of_tool)
{
    static const wd_cell absent = {0};
    for (size_t i = 0; i < l->n_keys; i++) {
        if (is_tool_key(&l->keys[i]) != of_tool)
            continue;
        const wd_cell *cell = &absent;
        if (!of_tool)
            cell = wd_yaml_cell(l->yaml, i);
        else if (wd_yaml_has_tools(l->yaml))
            cell = wd_yaml_tool_cell(l->yaml, tool, i);
        const char *culprit = NULL;
        const wd_written written = {cell, l->folder};
        wd_status status =
            wd_value_set(&l->keys[i], &written, object, &culprit, l->err);
        if (status != WD_OK)
            return locate(l, culprit, status);
    }
    return WD_OK;
}

/* A file without `tools` has one: python_code with its defaults. */
static wd_status set_tools(const loader *l)
{
    wd_config *c = l->config;
    bool written = wd_yaml_has_tools(l->yaml);
    size_t n = written ? wd_yaml_tools(l->yaml) : 1;
    c->tools = calloc(n, sizeof(*c->tools));
    if (c->tools == NULL)
        return wd_fail(l->err, WD_INTERNAL, "out of memory");
    c->n_tools = n;
    for (size_t i = 0; written && i < n; i++)
        WD_TRY(set_keys(l, &c->tools[i], i, true));
    return written ? WD_OK : wd_tool_default(&c->tools[0], l->err);
}

/* The text of the file that a rule objects to, to find its line by; NULL: a default. */
static const char *culprit_of(const loader *l, const wd_rule_failure *failure)
{
    for (size_t i = 0; i < l->n_keys; i++) {
        if (failure->key == NULL || strcmp(l->keys[i].name, failure->key) != 0)
            continue;
        bool of_tool = is_tool_key(&l->keys[i]);
        if (of_tool && !wd_yaml_has_tools(l->yaml))
            return NULL;
        const wd_cell *cell = of_tool ? wd_yaml_tool_cell(l->yaml, failure->index, i)
                                      : wd_yaml_cell(l->yaml, i);
        size_t item = of_tool ? failure->item : failure->index;
        if (cell->items != NULL && item < cell->n_items)
            return cell->items[item];
        return cell->text;
    }
    return NULL;
}

static wd_status load_from(loader *l, const wd_yaml *yaml)
{
    l->yaml = yaml;
    l->keys = wd_config_keys(&l->n_keys);
    WD_TRY(wd_places_init(&l->config->places, l->places->home, l->err));
    WD_TRY(set_keys(l, l->config, 0, false));
    WD_TRY(set_tools(l));
    wd_rule_failure failure = {0};
    wd_status status = wd_config_apply_rules(l->config, &failure, l->err);
    if (status != WD_OK)
        return locate(l, culprit_of(l, &failure), status);
    return WD_OK;
}

wd_status wd_config_parse(const wd_places *places, const char *text, size_t size,
                          wd_config **ret_config, wd_error *err)
{
    wd_error why = {0};
    WD_AUTO(wd_yaml) *yaml = NULL;
    if (wd_yaml_load(text, size, &yaml, &why) != WD_OK)
        return wd_fail(err, why.status, "%s:%.400s", places->config_file, why.msg);
    WD_AUTO(wd_text) *folder = strdup(places->config_file);
    WD_AUTO(wd_config) *config = calloc(1, sizeof(*config));
    if (config == NULL || folder == NULL)
        return wd_fail(err, WD_INTERNAL, "out of memory");
    char *slash = strrchr(folder, '/');
    if (slash != NULL)
        slash[slash == folder] = '\0';
    loader l = {.places = places, .folder = folder, .config = config, .err = &why};
    wd_status status = load_from(&l, yaml);
    if (status != WD_OK)
        return wd_fail(err, status, "%s", why.msg);
    *ret_config = WD_STEAL(config);
    return WD_OK;
}

/* --- the file ----------------------------------------------------------------------- */

static wd_status read_file(const char *path, char **ret_text, size_t *ret_size,
                           wd_error *err)
{
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return wd_fail(err, WD_INVALID_ARGUMENT, "%s is no regular file", path);
    WD_AUTO_FILE FILE *file = fopen(path, "re");
    if (file == NULL && errno == ENOENT)
        return wd_fail(err, WD_NOT_FOUND,
                       "%s: there is no configuration; make one with "
                       "'warded init' (or 'warded --home DIR init')",
                       path);
    if (file == NULL)
        return wd_fail(err, WD_PERMISSION_DENIED, "%s: %s%s", path, strerror(errno),
                       wd_rights_cure(errno));
    WD_AUTO(wd_text) *text = malloc(FILE_BYTES + 1);
    if (text == NULL)
        return wd_fail(err, WD_INTERNAL, "out of memory");
    *ret_size = fread(text, 1, FILE_BYTES + 1, file);
    if (ferror(file))
        return wd_fail(err, WD_INTERNAL, "%s: %s", path, strerror(errno));
    *ret_text = WD_STEAL(text);
    return WD_OK;
}

/* Who may write the configuration decides what runs as root. */
static wd_status check_file(const char *path, wd_error *err)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return WD_OK; /* reading it says why */
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return wd_fail(err, WD_PERMISSION_DENIED,
                       "%s: owned by uid %u; it must be root's (chown root %s)", path,
                       (unsigned)st.st_uid, path);
    if ((st.st_mode & S_IWOTH) != 0)
        return wd_fail(err, WD_PERMISSION_DENIED,
                       "%s: mode %04o lets everybody write it (chmod o-w %s)", path,
                       (unsigned)(st.st_mode & 07777), path);
    return WD_OK;
}

wd_status wd_config_load(const char *home, wd_config **ret_config, wd_error *err)
{
    wd_places places;
    WD_TRY(wd_places_init(&places, home, err));
    WD_AUTO(wd_text) *text = NULL;
    size_t size = 0;
    wd_status status = check_file(places.config_file, err);
    if (status == WD_OK)
        status = read_file(places.config_file, &text, &size, err);
    if (status == WD_OK)
        status = wd_config_parse(&places, text, size, ret_config, err);
    wd_places_done(&places);
    return status;
}

void wd_config_free(wd_config *config)
{
    if (config == NULL)
        return;
    size_t n_keys = 0;
    const wd_key *keys = wd_config_keys(&n_keys);
    for (size_t i = 0; i < n_keys; i++) {
        if (!is_tool_key(&keys[i]))
            wd_value_clear(&keys[i], config);
        for (size_t t = 0; is_tool_key(&keys[i]) && t < config->n_tools; t++)
            wd_value_clear(&keys[i], &config->tools[t]);
    }
    free(config->tools);
    free(config->listen.host);
    free(config->identity.digest_key);
    wd_places_done(&config->places);
    free(config);
}

const wd_tool_config *wd_config_find_tool(const wd_config *config, const char *name)
{
    for (size_t i = 0; i < config->n_tools; i++)
        if (strcmp(config->tools[i].name, name) == 0)
            return &config->tools[i];
    return NULL;
}

wd_status wd_config_find_user(const wd_config *config, unsigned *ret_uid,
                              unsigned *ret_gid, wd_error *err)
{
    char room[4096];
    struct passwd entry;
    struct passwd *found = NULL;
    if (getpwnam_r(config->user, &entry, room, sizeof(room), &found) != 0 ||
        found == NULL)
        return wd_fail(
            err, WD_NOT_FOUND,
            "user: there is no account \"%s\" on this system; set 'user:' in "
            "%s, or: useradd --system --user-group --no-create-home "
            "--shell /usr/sbin/nologin %s",
            config->user, config->places.config_file, config->user);
    if (found->pw_uid == 0)
        return wd_fail(
            err, WD_FAILED_PRECONDITION,
            "user: \"%s\" is root, who can read the CA's key and write all of "
            "the record; set 'user:' in %s to an account of its own, such as "
            "warded",
            config->user, config->places.config_file);
    *ret_uid = found->pw_uid;
    *ret_gid = found->pw_gid;
    return WD_OK;
}
