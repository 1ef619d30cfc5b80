#include "server/service/item_check.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "proto/c/limits.h"
#include "proto/c/utf8.h"

static wd_status check_size(const char *field, size_t size, size_t most, wd_error *err)
{
    if (size <= most)
        return WD_OK;
    return wd_refuse(err, WD_REASON_FIELD_INVALID, "%s has %zu bytes, at most %zu",
                     field, size, most);
}

static wd_status check_trajectory(const char *id, wd_error *err)
{
    if (id[0] == '\0')
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "trajectory_id is empty, it must have 1 to %u bytes",
                         WD_TRAJECTORY_BYTES);
    WD_TRY(check_size("trajectory_id", strlen(id), WD_TRAJECTORY_BYTES, err));
    wd_span text = {(const uint8_t *)id, strlen(id)};
    size_t at = 0;
    size_t size = 0;
    if (wd_utf8_printable(text, &at))
        return WD_OK;
    return wd_refuse(err, WD_REASON_FIELD_INVALID,
                     "trajectory_id has the control character U+%04X at byte %zu: only "
                     "what is printed may be in it",
                     (unsigned)wd_utf8_next(wd_span_skip(text, at), &size), at);
}

/* "" or a JSON object. */
static wd_status check_object(const char *field, const char *text, wd_error *err)
{
    json_error_t why;

    if (text[0] == '\0')
        return WD_OK;
    WD_TRY(check_size(field, strlen(text), WD_EXTRA_BYTES, err));
    json_t *value = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    bool object = json_is_object(value);
    bool parsed = value != NULL;
    json_decref(value);
    if (object)
        return WD_OK;
    return wd_refuse(err, WD_REASON_FIELD_INVALID, "%s is no JSON object: %s", field,
                     parsed ? "another kind of value" : why.text);
}

static wd_status check_limit(const char *field, uint64_t value, uint64_t least,
                             uint64_t most, wd_error *err)
{
    if (value == 0 || (value >= least && value <= most))
        return WD_OK;
    return wd_refuse(err, WD_REASON_FIELD_INVALID,
                     "limits.%s is %" PRIu64 ", it may be %" PRIu64 " to %" PRIu64
                     " (sandbox.maxima.%s), or 0 for the tool's own",
                     field, value, least, most, field);
}

static wd_status check_limits(const Warded__V1__Limits *asked,
                              const wd_action_limits *maxima, wd_error *err)
{
    if (asked == NULL)
        return WD_OK;
    WD_TRY(check_limit("wall_ms", asked->wall_ms, 1, maxima->wall_ms, err));
    WD_TRY(check_limit("cpu_ms", asked->cpu_ms, 1, maxima->cpu_ms, err));
    WD_TRY(check_limit("memory_bytes", asked->memory_bytes, 16U << 20,
                       maxima->memory_bytes, err));
    WD_TRY(check_limit("pids", asked->pids, 1, maxima->pids, err));
    WD_TRY(check_limit("files_bytes", asked->files_bytes, 64U << 10,
                       maxima->files_bytes, err));
    return check_limit("output_bytes", asked->output_bytes, 1U << 10,
                       maxima->output_bytes, err);
}

/* --- one function a field ---------------------------------------------------------------- */

static wd_status trajectory(const Warded__V1__Item *item, wd_error *err)
{
    return check_trajectory(item->trajectory_id, err);
}

static wd_status action(const Warded__V1__Item *item, wd_error *err)
{
    return check_size("action", strlen(item->action), WD_ACTION_BYTES, err);
}

static wd_status stdin_data(const Warded__V1__Item *item, wd_error *err)
{
    return check_size("stdin", item->stdin.len, WD_STDIN_BYTES, err);
}

static wd_status arguments(const Warded__V1__Item *item, wd_error *err)
{
    return check_object("arguments", item->arguments, err);
}

static wd_status extra(const Warded__V1__Item *item, wd_error *err)
{
    return check_object("extra", item->extra, err);
}

static wd_status files(const Warded__V1__Item *item, wd_error *err)
{
    if (item->n_files == 0 && item->n_fetch == 0)
        return WD_OK;
    return wd_refuse(err, WD_REASON_NOT_BUILT,
                     "files and fetch are not built yet; leave them out");
}

static const struct {
    const char *name;
    wd_status (*check)(const Warded__V1__Item *item, wd_error *err);
} fields[] = {
    {"trajectory_id", trajectory}, {"action", action}, {"stdin", stdin_data},
    {"arguments", arguments},      {"extra", extra},   {"files", files},
};

wd_status wd_item_check(const Warded__V1__Item *item, const wd_action_limits *maxima,
                        const char **field, wd_error *err)
{
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        *field = fields[i].name;
        WD_TRY(fields[i].check(item, err));
    }
    *field = "limits";
    WD_TRY(check_limits(item->limits, maxima, err));
    *field = NULL;
    return WD_OK;
}
