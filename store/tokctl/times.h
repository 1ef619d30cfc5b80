/* times.h - times and spans of time as people write and read them.
 *
 * Threads: any.  Source: RFC 3339; always UTC. */
#ifndef WD_TOKCTL_TIMES_H
#define WD_TOKCTL_TIMES_H

#include <stddef.h>
#include <stdint.h>

#include "proto/c/status.h"

#define WD_TIME_TEXT_BYTES 32U

/* "90s", "30m", "1h", "7d": milliseconds, whole and positive.
 * Errors: INVALID_ARGUMENT, naming the option */
WD_MUST_USE wd_status wd_span_parse(const char *option, const char *text,
                                    int64_t *ret_ms, wd_error *err);

/* An option's span, and where its milliseconds go; text NULL: it was not given. */
typedef struct wd_span_option {
    const char *option, *text;
    uint64_t *ret_ms;
} wd_span_option;

/* Those of `n` that were given.
 * Errors: as wd_span_parse, of the first */
WD_MUST_USE wd_status wd_spans_parse(const wd_span_option *spans, size_t n,
                                     wd_error *err);

/* "2026-11-30T02:00:00Z" or "2026-11-30 02:00:00"; or a span: so long before now, with
 * '+' in front so long after. Unix milliseconds.
 * Errors: INVALID_ARGUMENT, naming the option */
WD_MUST_USE wd_status wd_time_parse(const char *option, const char *text,
                                    int64_t now_ms, int64_t *ret_ms, wd_error *err);

/* "2026-11-30T02:00:00.123Z"; "-" for 0, the number for what no calendar has. */
void wd_time_format(int64_t ms, char ret_text[WD_TIME_TEXT_BYTES]);

/* "90s", "1h": the largest unit that it is whole in; "250ms" below a second. */
void wd_span_format(int64_t ms, char ret_text[WD_TIME_TEXT_BYTES]);

#endif
