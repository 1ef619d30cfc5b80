#include "server/cmd.h"

#include "proto/c/utf8.h"
#include "server/supervisor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int exit_of(const wd_error *err)
{
    if (err->reason == WD_REASON_CONFLICT)
        return WD_EXIT_CONFLICT;
    switch (err->status) {
    case WD_OK:
        return WD_EXIT_OK;
    case WD_INVALID_ARGUMENT:
        return WD_EXIT_USAGE;
    case WD_NOT_FOUND:
        return WD_EXIT_NOT_FOUND;
    case WD_UNAVAILABLE:
        return WD_EXIT_UNREACHABLE;
    case WD_CANCELLED:
    case WD_DEADLINE_EXCEEDED:
    case WD_PERMISSION_DENIED:
    case WD_RESOURCE_EXHAUSTED:
    case WD_FAILED_PRECONDITION:
    case WD_ABORTED:
    case WD_UNIMPLEMENTED:
    case WD_INTERNAL:
    case WD_DATA_LOSS:
    case WD_UNAUTHENTICATED:
        break;
    }
    return WD_EXIT_FAILED;
}

/* It may quote a file or a command line: what a terminal would act on is escaped. */
int wd_cmd_fail(const char *command, const wd_error *err)
{
    WD_AUTO_BUFFER text = WD_BUFFER_INIT;
    wd_span msg = {(const uint8_t *)err->msg, strlen(err->msg)};
    if (!wd_utf8_append_escaped(&text, msg))
        return WD_EXIT_FAILED;
    (void)fprintf(stderr, "%s: %.*s\n", command, (int)text.size, (char *)text.data);
    return exit_of(err);
}

wd_config *wd_cmd_load(const char *command, const char *home, int *ret_exit)
{
    wd_error err = {0};
    wd_config *config = NULL;
    if (wd_config_load(home, &config, &err) != WD_OK) {
        (void)wd_cmd_fail(command, &err);
        *ret_exit = WD_EXIT_CONFIG;
        return NULL;
    }
    wd_log_setup(config->log.format, config->log.level);
    return config;
}

static const struct {
    char letter;
    int64_t ms;
} units[] = {{'d', 86400000}, {'h', 3600000}, {'m', 60000}, {'s', 1000}};
#define N_UNITS (sizeof(units) / sizeof(units[0]))

wd_status wd_duration_parse(const char *option, const char *text, int64_t *ret_ms,
                            wd_error *err)
{
    size_t digits = strspn(text, "0123456789");
    for (size_t i = 0; i < N_UNITS && digits > 0 && digits <= 9; i++) {
        int64_t count = strtoll(text, NULL, 10);
        if (text[digits] != units[i].letter || text[digits + 1] != '\0' || count == 0)
            continue;
        *ret_ms = count * units[i].ms;
        return WD_OK;
    }
    return wd_fail(
        err, WD_INVALID_ARGUMENT,
        "%s: \"%.40s\": allowed: a number and s, m, h or d, such as 90s, 30m, "
        "1h, 7d",
        option, text);
}

void wd_duration_format(int64_t ms, char *out, size_t size)
{
    size_t i = 0;
    while (i + 1 < N_UNITS && (ms < units[i].ms * 2 || ms % units[i].ms != 0))
        i++;
    (void)snprintf(out, size, "%" PRId64 " %c", ms / units[i].ms, units[i].letter);
}
