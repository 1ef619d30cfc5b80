/* log.h - one event a line on standard error, as logfmt or JSON.
 *
 *     ts=2026-03-01T12:00:00.123Z level=info event=gate.ready address=127.0.0.1:7443
 *
 *     wd_log(WD_LOG_INFO, "gate.ready", WD_KV("address", text), WD_KN("pid", pid));
 *
 * Event names are stable (programs match them); keys are [a-z_]. Values that hold
 * anything but [!#-~] are quoted and escaped (\n, \", \\, \xNN), so what strangers send
 * never makes a line of its own. Never give it a secret.
 *
 * Threads: any; each line is one write(2) of at most WD_LOG_LINE_BYTES, cut beyond.
 * Owns:    the process-wide threshold and form (tests/lint/globals.allow). */
#ifndef WD_SERVER_LOG_H
#define WD_SERVER_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WD_LOG_LINE_BYTES 4096

typedef enum wd_log_level {
    WD_LOG_DEBUG,
    WD_LOG_INFO,
    WD_LOG_WARN,
    WD_LOG_ERROR,
} wd_log_level;

typedef enum wd_log_format {
    WD_LOG_TEXT,    /* logfmt */
    WD_LOG_JSON,    /* an object a line */
    WD_LOG_JOURNAL, /* logfmt behind the journal's <N> priority, without ts */
} wd_log_format;

/* One key and its value: text, or a number when text is NULL. */
typedef struct wd_log_field {
    const char *key;
    const char *text;
    int64_t number;
} wd_log_field;

#define WD_KV(key, text)   {(key), (text) != NULL ? (text) : "-", 0}
#define WD_KN(key, number) {(key), NULL, (int64_t)(number)}

/* Write one line, unless `level` is below the threshold. At least one field; an event
 * that needs none is wd_log_event. Errors in writing are ignored: a full pipe must not
 * stop the gate. */
/* They read as functions. NOLINTBEGIN(readability-identifier-naming) */
#define wd_log(level, event, ...)                                                      \
    wd_log_write((level), (event), (const wd_log_field[]){__VA_ARGS__},                \
                 sizeof((const wd_log_field[]){__VA_ARGS__}) / sizeof(wd_log_field))
#define wd_log_event(level, event) wd_log_write((level), (event), NULL, 0)
/* NOLINTEND(readability-identifier-naming) */
void wd_log_write(wd_log_level level, const char *event, const wd_log_field *fields,
                  size_t n_fields);

/* Set threshold and form for the process; at start and on reload. */
void wd_log_setup(wd_log_format format, wd_log_level threshold);

/* All that a line is made of; borrowed. */
typedef struct wd_log_line {
    wd_log_format format;
    wd_log_level level;
    const char *event;
    const wd_log_field *fields;
    size_t n_fields;
    int64_t wall_ms; /* Unix milliseconds */
} wd_log_line;

/* The text that wd_log_write writes: into `out` of `size` bytes, NUL terminated, with a
 * newline at its end even when cut. Returns its length. */
size_t wd_log_format_line(const wd_log_line *line, char *out, size_t size);

#endif
