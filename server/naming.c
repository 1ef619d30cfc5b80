#include "server/naming.h"

#include "server/files.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

wd_status wd_uri_make(const wd_spiffe *parts, char *out, wd_error *err)
{
    wd_spiffe check;
    const char *kind = parts->kind == WD_SPIFFE_GATE ? "gate" : "client";
    int length = snprintf(out, WD_URI_BYTES + 1, "spiffe://%s/ns/%s/owner/%s/%s/%s",
                          parts->domain, parts->ns, parts->owner, kind, parts->name);
    if (length < 0 || (unsigned)length > WD_URI_BYTES)
        return wd_fail(err, WD_INVALID_ARGUMENT, "name longer than %u bytes",
                       WD_URI_BYTES);
    return wd_spiffe_parse(out, (size_t)length, &check, err);
}

/* What stands for a character of any text; '-' where nothing does. */
static char segment_char(char c)
{
    char lower = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return (char)(strchr("abcdefghijklmnopqrstuvwxyz0123456789._", lower) ? lower
                                                                          : '-');
}

void wd_segment_make(const char *text, char out[WD_SPIFFE_SEGMENT_BYTES])
{
    size_t used = 0;
    for (; *text != '\0' && used < WD_SPIFFE_SEGMENT_BYTES - 1; text++) {
        char c = segment_char(*text);
        if (used > 0 || strchr("._-", c) == NULL) /* letter or digit first */
            out[used++] = c;
    }
    out[used] = '\0';
    if (used == 0)
        (void)snprintf(out, WD_SPIFFE_SEGMENT_BYTES, "unnamed");
}

bool wd_account_name(char *out, size_t size)
{
    char room[4096];
    struct passwd entry;
    struct passwd *found = NULL;
    if (getpwuid_r(getuid(), &entry, room, sizeof(room), &found) != 0 || found == NULL)
        return false;
    (void)snprintf(out, size, "%s", found->pw_name);
    return true;
}

void wd_segment_of_user(char out[WD_SPIFFE_SEGMENT_BYTES])
{
    const char *asked = getuid() == 0 ? getenv("SUDO_USER") : NULL;
    char name[256];
    if (asked != NULL && *asked != '\0')
        wd_segment_make(asked, out);
    else if (wd_account_name(name, sizeof(name)))
        wd_segment_make(name, out);
    else
        (void)snprintf(out, WD_SPIFFE_SEGMENT_BYTES, "uid-%u", (unsigned)getuid());
}

void wd_segment_of_host(char out[WD_SPIFFE_SEGMENT_BYTES])
{
    char host[256] = "";
    if (gethostname(host, sizeof(host) - 1) != 0)
        host[0] = '\0';
    wd_segment_make(host, out);
}

void wd_endpoints_make(const wd_config *config, char out[WD_ENDPOINTS_BYTES])
{
    const char *host = config->listen.host;
    static const char *const always[] = {"localhost", "127.0.0.1", "::1", "*"};
    (void)snprintf(out, WD_ENDPOINTS_BYTES, "localhost 127.0.0.1 [::1]");
    for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
        if (strcmp(host, always[i]) == 0)
            return;
    bool six = strchr(host, ':') != NULL;
    size_t used = strlen(out);
    (void)snprintf(out + used, WD_ENDPOINTS_BYTES - used, " %s%s%s", six ? "[" : "",
                   host, six ? "]" : "");
}

static bool is_address(const char *text)
{
    return *text != '\0' && strchr(text, ':') != NULL &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789.:[]-") == strlen(text);
}

bool wd_address_of(const wd_config *config, char *out, size_t size)
{
    const char *host = config->listen.host;
    if (config->listen.port != 0) {
        bool six = strchr(host, ':') != NULL;
        (void)snprintf(out, size, six ? "[%s]:%u" : "%s:%u",
                       strcmp(host, "*") == 0 ? "127.0.0.1" : host,
                       (unsigned)config->listen.port);
        return true;
    }
    WD_AUTO(wd_text) *path = wd_path_join(config->places.run_dir, "address");
    if (path == NULL || !wd_read_text(path, out, size))
        return false;
    out[strcspn(out, "\n")] = '\0';
    return is_address(out);
}

const char *const wd_admin_scopes[WD_ADMIN_SCOPES] = {
    "token:**", "audit:read", "health:*", "observe:**", "env:**",
};
