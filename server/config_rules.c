#include "server/config_rules.h"

#include "proto/c/hostname.h"
#include "proto/c/limits.h"
#include "server/config_keys.h"
#include "server/config_retention.h"
#include "server/config_value.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define URL_ALLOWED "allowed: tls+tcp://HOST:PORT, such as tls+tcp://127.0.0.1:7443"

static wd_status out_of_memory(wd_error *err)
{
    return wd_fail(err, WD_INTERNAL, "out of memory");
}

/* --- listen ------------------------------------------------------------------------- */

static bool is_host(const char *host, size_t length, bool brackets)
{
    char text[254] = "";
    if (length == 0 || length >= sizeof(text))
        return false;
    memcpy(text, host, length);
    if (strchr(text, ':') != NULL)
        return brackets && wd_hostname_ok(text);
    return !brackets && (strcmp(text, "*") == 0 || wd_hostname_ok(text));
}

static bool parse_port(const char *text, uint16_t *ret_port)
{
    size_t length = strlen(text);
    if (length == 0 || length > 5 || strspn(text, "0123456789") != length)
        return false;
    unsigned long port = strtoul(text, NULL, 10);
    *ret_port = (uint16_t)port;
    return port <= UINT16_MAX;
}

wd_status wd_url_parse(const char *url, char **ret_host, uint16_t *ret_port,
                       wd_error *err)
{
    static const char scheme[] = "tls+tcp://";
    if (strncmp(url, scheme, sizeof(scheme) - 1) != 0)
        return wd_fail(err, WD_INVALID_ARGUMENT, "\"%.100s\": " URL_ALLOWED, url);
    const char *host = url + sizeof(scheme) - 1;
    const char *colon = strrchr(host, ':');
    if (colon == NULL)
        return wd_fail(err, WD_INVALID_ARGUMENT, "\"%.100s\": " URL_ALLOWED, url);
    size_t length = (size_t)(colon - host);
    bool brackets = length > 2 && host[0] == '[' && host[length - 1] == ']';
    if (brackets) {
        host++;
        length -= 2;
    }
    uint16_t port = 0;
    if (!is_host(host, length, brackets) || !parse_port(colon + 1, &port))
        return wd_fail(err, WD_INVALID_ARGUMENT, "\"%.100s\": " URL_ALLOWED, url);
    char *copy = strndup(host, length);
    if (copy == NULL)
        return out_of_memory(err);
    *ret_host = copy;
    *ret_port = port;
    return WD_OK;
}

static wd_status apply_listen(wd_config *c, wd_rule_failure *f, wd_error *err)
{
    wd_error why = {0};
    f->key = "listen.url";
    if (wd_url_parse(c->listen.url, &c->listen.host, &c->listen.port, &why) != WD_OK)
        return wd_fail(err, why.status, "listen.url: %s", why.msg);
    return WD_OK;
}

/* --- limits ------------------------------------------------------------------------- */

/* One principal's requests have a share of all: the largest request must fit in it. */
static wd_status check_shares(wd_config *c, wd_rule_failure *f, wd_error *err)
{
    uint64_t least = WD_SHARES * c->limits.frame_bytes; /* at most 64 MiB: the table */
    f->key = "limits.request_bytes";
    if (c->limits.request_bytes < least)
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "limits.request_bytes: %" PRIu64 " is less than %u times "
                       "limits.frame_bytes, %" PRIu64
                       ": a principal's share of it would not hold its largest request",
                       c->limits.request_bytes, WD_SHARES, least);
    return WD_OK;
}

/* --- audit ------------------------------------------------------------------------- */

/* What stands in no name that is looked at would redact nothing (redact.c). */
static wd_status check_redact(wd_config *c, wd_rule_failure *f, wd_error *err)
{
    f->key = "audit.redact";
    for (size_t i = 0; i < c->audit.redact.n_items; i++) {
        const char *name = c->audit.redact.items[i];
        f->index = i;
        for (const char *at = name; *at != '\0'; at++)
            if (!isalnum((unsigned char)*at) && *at != '_' && *at != '-')
                return wd_fail(err, WD_INVALID_ARGUMENT,
                               "audit.redact: \"%.100s\" would redact nothing; "
                               "allowed: what a name ends with, of letters, digits, _ "
                               "and -",
                               name);
    }
    return WD_OK;
}

/* --- paths -------------------------------------------------------------------------- */

static wd_status default_path(char **path, const char *dir, const char *name,
                              wd_error *err)
{
    if (**path != '\0')
        return WD_OK;
    free(*path);
    *path = wd_path_join(dir, name);
    return *path != NULL ? WD_OK : out_of_memory(err);
}

static wd_status apply_paths(wd_config *c, wd_rule_failure *f, wd_error *err)
{
    (void)f;
    const char *gate = c->places.gate_dir;
    c->identity.deny_list_set = c->identity.deny_list[0] != '\0';
    c->identity.digest_key = wd_path_join(gate, "digest.key");
    if (c->identity.digest_key == NULL)
        return out_of_memory(err);
    WD_TRY(default_path(&c->identity.ca, gate, "ca.pem", err));
    WD_TRY(default_path(&c->identity.cert, gate, "cert.pem", err));
    WD_TRY(default_path(&c->identity.key, gate, "key.pem", err));
    WD_TRY(default_path(&c->identity.deny_list, gate, "deny", err));
    WD_TRY(default_path(&c->store.path, c->places.state_dir, "store", err));
    WD_TRY(default_path(&c->audit.export_dir, c->store.path, "exports", err));
    char *store = strdup(c->store.path);
    if (store == NULL)
        return out_of_memory(err);
    free(c->places.store_dir);
    c->places.store_dir = store;
    return WD_OK;
}

/* --- sandbox ------------------------------------------------------------------------ */

/* A root must not show what the sandbox is there to hide. */
static const char *hidden_place(const wd_config *c, const char *root)
{
    const char *hidden[] = {c->places.config_file, c->places.state_dir,
                            c->places.run_dir,     c->places.profile_dir,
                            c->store.path,         c->audit.export_dir,
                            c->identity.key};
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
        if (wd_path_is_inside(hidden[i], root) || wd_path_is_inside(root, hidden[i]))
            return hidden[i];
    return NULL;
}

/* No part of it is empty, "." or "..": then where it leads is what it says. */
static bool is_plain(const char *path)
{
    if (path[0] != '/')
        return false;
    while (*path == '/') {
        size_t size = strcspn(path + 1, "/");
        if (size == 0 || (size <= 2 && strncmp(path + 1, "..", size) == 0))
            return false;
        path += 1 + size;
    }
    return true;
}

/* An earlier root that is the same folder, holds it or lies in it; NULL: none. */
static const char *nested_root(const wd_config *c, size_t i)
{
    char *const *roots = c->sandbox.roots.items;
    for (size_t k = 0; k < i; k++) {
        if (wd_path_is_inside(roots[i], roots[k]) ||
            wd_path_is_inside(roots[k], roots[i]))
            return roots[k];
    }
    return NULL;
}

static wd_status check_roots(const wd_config *c, wd_rule_failure *f, wd_error *err)
{
    f->key = "sandbox.roots";
    for (size_t i = 0; i < c->sandbox.roots.n_items; i++) {
        const char *root = c->sandbox.roots.items[i];
        f->index = i;
        if (!is_plain(root))
            return wd_fail(
                err, WD_INVALID_ARGUMENT,
                "sandbox.roots: \"%.100s\": allowed: absolute paths below /, "
                "without \"//\", \".\" or \"..\", or a \"/\" at the end",
                root);
        const char *other = nested_root(c, i);
        if (other != NULL)
            return wd_fail(
                err, WD_INVALID_ARGUMENT,
                "sandbox.roots: \"%.100s\" and \"%.100s\": one lies in the other", root,
                other);
        const char *hidden = hidden_place(c, root);
        if (hidden != NULL)
            return wd_fail(err, WD_INVALID_ARGUMENT,
                           "sandbox.roots: \"%.100s\" would show %.200s to code under "
                           "test; name narrower folders",
                           root, hidden);
    }
    return WD_OK;
}

static const char *const limit_names[] = {"wall_ms", "cpu_ms",      "memory_bytes",
                                          "pids",    "files_bytes", "output_bytes"};
#define N_LIMITS (sizeof(limit_names) / sizeof(limit_names[0]))

static uint64_t *limit_at(wd_action_limits *limits, size_t i)
{
    uint64_t *all[] = {&limits->wall_ms, &limits->cpu_ms,      &limits->memory_bytes,
                       &limits->pids,    &limits->files_bytes, &limits->output_bytes};
    return all[i];
}

/* The table's own spelling of "<group>.<limit>", which outlives this call. */
static const char *key_name(const char *group, const char *limit)
{
    size_t n = 0;
    const wd_key *keys = wd_config_keys(&n);
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(group);
        if (strncmp(keys[i].name, group, length) == 0 &&
            strcmp(keys[i].name + length, limit) == 0)
            return keys[i].name;
    }
    return NULL;
}

static wd_status check_limits(wd_config *c, wd_action_limits *limits, const char *group,
                              wd_rule_failure *f, wd_error *err)
{
    for (size_t i = 0; i < N_LIMITS; i++) {
        uint64_t value = *limit_at(limits, i);
        uint64_t most = *limit_at(&c->sandbox.maxima, i);
        f->key = key_name(group, limit_names[i]);
        if (value > most)
            return wd_fail(err, WD_INVALID_ARGUMENT,
                           "%s%s: %" PRIu64 " is more than sandbox.maxima.%s, %" PRIu64,
                           group, limit_names[i], value, limit_names[i], most);
    }
    return WD_OK;
}

static wd_status apply_sandbox(wd_config *c, wd_rule_failure *f, wd_error *err)
{
    f->key = "sandbox.mode";
    if (c->sandbox.mode == WD_SANDBOX_EXTERNAL && c->sandbox.reason[0] == '\0')
        return wd_fail(
            err, WD_INVALID_ARGUMENT,
            "sandbox.mode: external needs sandbox.reason: which outer sandbox "
            "(gVisor, a microVM, ...) holds the whole of Warded");
    if (c->sandbox.slots == 0) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        c->sandbox.slots = cores > 0 ? (uint64_t)cores + 1 : 2;
    }
    f->key = "sandbox.uid_base";
    if (c->sandbox.uid_base < 65536)
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "sandbox.uid_base: %" PRIu64
                       ": allowed: 65536 to 4294900000, away "
                       "from accounts of this system",
                       c->sandbox.uid_base);
    WD_TRY(check_limits(c, &c->sandbox.defaults, "sandbox.defaults.", f, err));
    return check_roots(c, f, err);
}

/* --- tools -------------------------------------------------------------------------- */

wd_status wd_tool_default(wd_tool_config *tool, wd_error *err)
{
    char name[] = "python_code";
    size_t n = 0;
    const wd_key *keys = wd_config_keys(&n);
    for (size_t i = 0; i < n; i++) {
        wd_cell cell = {0};
        const char *culprit = NULL;
        if (strncmp(keys[i].name, WD_KEY_TOOLS, strlen(WD_KEY_TOOLS)) != 0)
            continue;
        if (strcmp(keys[i].name, "tools[].name") == 0)
            cell.text = name;
        WD_TRY(wd_value_set(&keys[i], &(wd_written){&cell, "/"}, tool, &culprit, err));
    }
    return WD_OK;
}

static bool is_tool_name(const char *name)
{
    return isalnum((unsigned char)name[0]) &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(name);
}

/* A longer tag would be cut in the marks that it makes (service/routing.c); what holds
 * the end of a mark makes none. */
static wd_status check_tags(const wd_tool_config *tool, size_t i, wd_rule_failure *f,
                            wd_error *err)
{
    f->key = "tools[].tags";
    for (size_t k = 0; k < tool->tags.n_items; k++) {
        const char *tag = tool->tags.items[k];
        f->item = k;
        if (strlen(tag) > WD_TOOL_TAG_BYTES || strpbrk(tag, " <>`") != NULL)
            return wd_fail(err, WD_INVALID_ARGUMENT,
                           "tools[%zu].tags: \"%.100s\": no block has such a tag; "
                           "allowed: 1 to %u bytes without blanks, <, > and `",
                           i, tag, WD_TOOL_TAG_BYTES);
    }
    return WD_OK;
}

static wd_status check_tool(wd_config *c, size_t i, wd_rule_failure *f, wd_error *err)
{
    wd_tool_config *tool = &c->tools[i];
    f->key = "tools[].name";
    f->index = i;
    if (!is_tool_name(tool->name))
        return wd_fail(
            err, WD_INVALID_ARGUMENT,
            "tools[%zu].name: \"%s\": allowed: a-z 0-9 _ -, a letter or digit "
            "first",
            i, tool->name);
    if (wd_config_find_tool(c, tool->name) != tool)
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "tools[%zu].name: \"%s\" is the name of an earlier tool", i,
                       tool->name);
    f->key = "tools[].preset";
    if (strcmp(tool->preset, "default") != 0)
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "tools[%zu].preset: \"%s\": allowed: default", i, tool->preset);
    WD_TRY(check_tags(tool, i, f, err));
    for (size_t k = 0; k < N_LIMITS; k++)
        if (*limit_at(&tool->limits, k) == 0)
            *limit_at(&tool->limits, k) = *limit_at(&c->sandbox.defaults, k);
    return check_limits(c, &tool->limits, "tools[].limits.", f, err);
}

static wd_status apply_tools(wd_config *c, wd_rule_failure *f, wd_error *err)
{
    for (size_t i = 0; i < c->n_tools; i++)
        WD_TRY(check_tool(c, i, f, err));
    return WD_OK;
}

/* --- all ---------------------------------------------------------------------------- */

wd_status wd_config_apply_rules(wd_config *config, wd_rule_failure *ret_failure,
                                wd_error *err)
{
    static wd_status (*const rules[])(wd_config *, wd_rule_failure *, wd_error *) = {
        apply_paths, /* first: later rules look at paths */
        apply_listen,       check_shares,  check_redact,
        wd_retention_check, apply_sandbox, apply_tools,
    };
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        *ret_failure = (wd_rule_failure){0};
        WD_TRY(rules[i](config, ret_failure, err));
    }
    return WD_OK;
}
