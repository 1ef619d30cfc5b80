#include "store/tokctl/times.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct {
    char letter;
    int64_t ms;
} units[] = {{'s', 1000}, {'m', 60000}, {'h', 3600000}, {'d', 86400000}};

static bool read_span(const char *text, int64_t *ret_ms)
{
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 9 || text[digits] == '\0' || text[digits + 1] != '\0')
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (units[i].letter == text[digits]) {
            *ret_ms = strtoll(text, NULL, 10) * units[i].ms;
            return *ret_ms > 0;
        }
    }
    return false;
}

wd_status wd_span_parse(const char *option, const char *text, int64_t *ret_ms,
                        wd_error *err)
{
    if (!read_span(text, ret_ms))
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "%s: \"%.40s\" is no span of time: 90s, 30m, 1h or 7d", option,
                       text);
    return WD_OK;
}

/* Every field must be there and come back as it went in: no 31st of February. */
static bool read_time(const char *text, int64_t *ret_ms)
{
    struct tm fields = {0};
    struct tm again;
    const char *end = strptime(text, "%Y-%m-%d", &fields);
    if (end != NULL && (*end == 'T' || *end == ' '))
        end = strptime(end + 1, "%H:%M:%S", &fields);
    if (end == NULL || (strcmp(end, "Z") != 0 && *end != '\0'))
        return false;
    int day = fields.tm_mday;
    time_t seconds = timegm(&fields);
    if (seconds < 0 || gmtime_r(&seconds, &again) == NULL || again.tm_mday != day)
        return false;
    *ret_ms = (int64_t)seconds * 1000;
    return true;
}

wd_status wd_spans_parse(const wd_span_option *spans, size_t n, wd_error *err)
{
    int64_t ms = 0;

    for (size_t i = 0; i < n; i++) {
        if (spans[i].text == NULL)
            continue;
        WD_TRY(wd_span_parse(spans[i].option, spans[i].text, &ms, err));
        *spans[i].ret_ms = (uint64_t)ms;
    }
    return WD_OK;
}

wd_status wd_time_parse(const char *option, const char *text, int64_t now_ms,
                        int64_t *ret_ms, wd_error *err)
{
    int64_t span = 0;
    bool read = true;
    if (text[0] == '+' && read_span(text + 1, &span))
        *ret_ms = now_ms + span;
    else if (read_span(text, &span))
        *ret_ms = now_ms - span;
    else
        read = read_time(text, ret_ms);
    if (read && *ret_ms < 0)
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "%s: \"%.40s\" ago is before 1970, where times begin", option,
                       text);
    if (!read)
        return wd_fail(
            err, WD_INVALID_ARGUMENT,
            "%s: \"%.40s\" is no time: 2026-11-30T02:00:00Z, or 1h for an hour "
            "ago, or +1h for an hour from now",
            option, text);
    return WD_OK;
}

void wd_time_format(int64_t ms, char ret_text[WD_TIME_TEXT_BYTES])
{
    struct tm fields;
    char text[24];
    time_t seconds = (time_t)(ms / 1000);
    if (ms == 0) {
        (void)strlcpy(ret_text, "-", WD_TIME_TEXT_BYTES);
        return;
    }
    if (ms < 0 || gmtime_r(&seconds, &fields) == NULL || fields.tm_year > 8099 ||
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &fields) == 0) {
        (void)snprintf(ret_text, WD_TIME_TEXT_BYTES, "%" PRId64, ms);
        return;
    }
    (void)snprintf(ret_text, WD_TIME_TEXT_BYTES, "%s.%03dZ", text, (int)(ms % 1000));
}

void wd_span_format(int64_t ms, char ret_text[WD_TIME_TEXT_BYTES])
{
    size_t unit = 0;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (ms >= units[i].ms && ms % units[i].ms == 0)
            unit = i;
    if (ms < 1000 || ms % 1000 != 0)
        (void)snprintf(ret_text, WD_TIME_TEXT_BYTES, "%" PRId64 "ms", ms);
    else
        (void)snprintf(ret_text, WD_TIME_TEXT_BYTES, "%" PRId64 "%c",
                       ms / units[unit].ms, units[unit].letter);
}
