#include "server/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOG_SETUP(format, threshold) ((unsigned)(format) << 8 | (unsigned)(threshold))

/* Form and threshold in one word, so that a reload is seen whole.
 * NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables) */
static atomic_uint log_setup = LOG_SETUP(WD_LOG_TEXT, WD_LOG_INFO);

static const struct {
    const char *name;
    int priority; /* syslog(3)'s */
} levels[] = {
    [WD_LOG_DEBUG] = {"debug", 7},
    [WD_LOG_INFO] = {"info", 6},
    [WD_LOG_WARN] = {"warn", 4},
    [WD_LOG_ERROR] = {"error", 3},
};

/* A line that grows up to its room; what no longer fits is dropped. */
typedef struct line_room {
    char *out;
    size_t size; /* usable bytes, the newline and the NUL set aside */
    size_t used;
} line_room;

static void put(line_room *l, const char *text, size_t length)
{
    size_t room = l->size - l->used;
    if (length > room)
        length = room;
    memcpy(l->out + l->used, text, length);
    l->used += length;
}

__attribute__((format(printf, 2, 3))) static void putf(line_room *l, const char *fmt,
                                                       ...)
{
    char text[64];
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (length > 0)
        put(l, text, (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1);
}

static bool is_plain(const char *text)
{
    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++)
        if (*text <= ' ' || *text > '~' || *text == '"' || *text == '\\' ||
            *text == '=')
            return false;
    return true;
}

/* Control characters are escaped; other bytes pass only when they are ASCII. */
static void put_escaped(line_room *l, const char *text, const char *escape_fmt)
{
    put(l, "\"", 1);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            putf(l, "\\%c", c);
        else if (c == '\n')
            put(l, "\\n", 2);
        else if (c < 0x20 || c > 0x7e)
            putf(l, escape_fmt[0] == 'u' ? "\\u%04x" : "\\x%02x", c);
        else
            put(l, text, 1);
    }
    put(l, "\"", 1);
}

static void put_time(line_room *l, int64_t wall_ms)
{
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm utc;
    char text[32];
    if (gmtime_r(&seconds, &utc) == NULL ||
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc) == 0)
        return;
    putf(l, "%s.%03dZ", text, (int)(wall_ms % 1000));
}

static void put_text_fields(line_room *l, const wd_log_field *fields, size_t n_fields)
{
    for (size_t i = 0; i < n_fields; i++) {
        putf(l, " %.40s=", fields[i].key);
        if (fields[i].text == NULL)
            putf(l, "%lld", (long long)fields[i].number);
        else if (is_plain(fields[i].text))
            put(l, fields[i].text, strlen(fields[i].text));
        else
            put_escaped(l, fields[i].text, "x");
    }
}

static void put_json_fields(line_room *l, const wd_log_field *fields, size_t n_fields)
{
    for (size_t i = 0; i < n_fields; i++) {
        putf(l, ",\"%.40s\":", fields[i].key);
        if (fields[i].text == NULL)
            putf(l, "%lld", (long long)fields[i].number);
        else
            put_escaped(l, fields[i].text, "u");
    }
}

static void put_json(line_room *l, const wd_log_line *line)
{
    put(l, "{\"ts\":\"", 7);
    put_time(l, line->wall_ms);
    putf(l, "\",\"level\":\"%s\",\"event\":\"%.40s\"", levels[line->level].name,
         line->event);
    put_json_fields(l, line->fields, line->n_fields);
    l->size++; /* set aside for it */
    put(l, "}", 1);
}

/* The journal has its own clock, and wants the priority first. */
static void put_logfmt(line_room *l, const wd_log_line *line)
{
    if (line->format == WD_LOG_JOURNAL) {
        putf(l, "<%d>", levels[line->level].priority);
    } else {
        put(l, "ts=", 3);
        put_time(l, line->wall_ms);
        put(l, " ", 1);
    }
    putf(l, "level=%s event=%.40s", levels[line->level].name, line->event);
    put_text_fields(l, line->fields, line->n_fields);
}

size_t wd_log_format_line(const wd_log_line *line, char *out, size_t size)
{
    bool json = line->format == WD_LOG_JSON;
    line_room l = {out, size - (json ? 3 : 2), 0};
    if (json)
        put_json(&l, line);
    else
        put_logfmt(&l, line);
    out[l.used++] = '\n';
    out[l.used] = '\0';
    return l.used;
}

void wd_log_setup(wd_log_format format, wd_log_level threshold)
{
    atomic_store(&log_setup, LOG_SETUP(format, threshold));
}

void wd_log_write(wd_log_level level, const char *event, const wd_log_field *fields,
                  size_t n_fields)
{
    unsigned setup = atomic_load(&log_setup);
    if ((unsigned)level < (setup & 0xff))
        return;
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    int64_t wall_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    char text[WD_LOG_LINE_BYTES];
    const wd_log_line line = {
        (wd_log_format)(setup >> 8), level, event, fields, n_fields, wall_ms};
    size_t length = wd_log_format_line(&line, text, sizeof(text));
    ssize_t written = write(STDERR_FILENO, text, length);
    (void)written;
}
