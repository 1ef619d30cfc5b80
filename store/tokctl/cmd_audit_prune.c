/* tokctl audit prune, checkpoint - the trail's own housekeeping, by hand. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proto/c/cleanup.h"
#include "proto/c/clock.h"
#include "store/tokctl/backend.h"
#include "store/tokctl/times.h"
#include "store/tokctl/verbs.h"
#include "store/tokctl/views.h"
#include "warded/v1/audit.pb-c.h"

enum option_key {
    OPTION_OLDER = 256,
    OPTION_TO,
    OPTION_EXPORTS,
    OPTION_NOW,
    OPTION_AT,
    OPTION_OUT
};

/* --- prune ----------------------------------------------------------------------------------- */

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    Warded__V1__PruneRequest ask;
    const char *older;
} arguments;

static const struct argp_option prune_options[] = {
    {"older-than", OPTION_OLDER, "SPAN", 0, "Segments whose newest row is older", 0},
    {"to", OPTION_TO, "SEQ", 0, "Segments that end at or before this row", 0},
    {"reason", 'r', "TEXT", 0, "Why, for the record", 0},
    {"exports", OPTION_EXPORTS, "DIR", 0,
     "With --db or --home: export to DIR [exports, in the store's folder]", 0},
    {0},
};

static const char prune_doc[] =
    "Export whole sealed segments to the gate's audit.export_dir, then remove them. "
    "Each leaves a row that tells of it (audit.prune), across which 'audit verify' "
    "still passes. What is not sealed, the newest sealed segment and rows of the last "
    "hour stay.\v"
    "  tokctl audit prune --older-than 90d --dry-run\n\n"
    "It asks first; --yes does not.";

static const wd_column gap_columns[] = {
    {"FIRST", "first_seq", WD_COLUMN_TEXT, false},
    {"LAST", "last_seq", WD_COLUMN_TEXT, false},
    {"TOLD BY", "tombstone_seq", WD_COLUMN_COUNT, false},
    {"EXPORT", "export", WD_COLUMN_TEXT, false},
    {"SHA256", "sha256", WD_COLUMN_TEXT, false},
    {NULL, NULL, WD_COLUMN_TEXT, false},
};

static error_t parse_prune(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case OPTION_OLDER:
        args->older = value;
        return 0;
    case OPTION_TO:
        args->ask.to_seq = wd_tokctl_number(state, "--to", value, 1, INT64_MAX);
        return 0;
    case 'r':
        args->ask.reason = value;
        return 0;
    case OPTION_EXPORTS:
        args->ctl->exports = value;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static wd_status settle_prune(arguments *args, wd_error *err)
{
    int64_t ms = 0;
    if (args->older == NULL && args->ask.to_seq == 0)
        return wd_fail(err, WD_INVALID_ARGUMENT, "--older-than SPAN, or --to SEQ");
    if (args->older == NULL)
        return WD_OK;
    WD_TRY(wd_span_parse("--older-than", args->older, &ms, err));
    args->ask.before_ms = (uint64_t)(wd_clock_wall_ms(wd_clock_system()) - ms);
    return WD_OK;
}

static bool print_gaps(const wd_tokctl *ctl, const Warded__V1__PruneReply *reply)
{
    WD_AUTO(wd_output) *out = wd_output_new(ctl, gap_columns);
    if (out == NULL)
        return false;
    for (size_t i = 0; i < reply->n_pruned; i++)
        wd_output_add(out, wd_record(&reply->pruned[i]->base));
    if (!ctl->quiet)
        (void)fprintf(stderr, "%s%llu rows, %llu bytes\n",
                      ctl->dry_run ? "would: " : "", (unsigned long long)reply->rows,
                      (unsigned long long)reply->bytes);
    return wd_output_end(out);
}

static int run_prune(wd_tokctl *ctl, int argc, char **argv)
{
    arguments args = {.ctl = ctl};
    wd_error err = {0};
    const ProtobufCMessage *message = NULL;
    WD_AUTO(wd_backend) *backend = NULL;
    warded__v1__prune_request__init(&args.ask);
    wd_tokctl_parse(&wd_verb_audit_prune, argc, argv, &args);
    if (settle_prune(&args, &err) != WD_OK)
        wd_tokctl_usage(ctl, &err);
    if (!wd_tokctl_confirm(ctl, "prune the audit trail"))
        return WD_EXIT_USAGE;
    args.ask.dry_run = ctl->dry_run;
    if (wd_backend_open(ctl, &backend, &err) != WD_OK ||
        wd_backend_call(backend, WD_AUDIT_METHOD(Prune), &args.ask.base, &message,
                        &err) != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    return print_gaps(ctl, (const Warded__V1__PruneReply *)message) ? WD_EXIT_OK
                                                                    : WD_EXIT_FAILED;
}

const wd_verb wd_verb_audit_prune = {
    .group = "audit",
    .name = "prune",
    .help = "export old rows and let them go",
    .doc = prune_doc,
    .options = prune_options,
    .parser = parse_prune,
    .flags = WD_VERB_OFFLINE | WD_VERB_DRY_RUN | WD_VERB_ASKS,
    .run = run_prune,
};

/* --- checkpoint -------------------------------------------------------------------------------- */

typedef struct checkpoint_arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    Warded__V1__CheckpointRequest ask;
    const char *out;
} checkpoint_arguments;

static const struct argp_option checkpoint_options[] = {
    {"now", OPTION_NOW, NULL, 0, "Sign the newest row, unless that is done already", 0},
    {"at", OPTION_AT, "SEQ", 0, "The first one at or after this row", 0},
    {"out", OPTION_OUT, "FILE", 0, "The text to a new file", 0},
    {0},
};

static const char checkpoint_doc[] =
    "Show the newest signed checkpoint of the audit trail: who keeps it elsewhere is a "
    "witness, and 'audit verify --checkpoint FILE' begins with it.\v"
    "  tokctl audit checkpoint --now --out checkpoint-$(date +%F)";

static const wd_column checkpoint_members[] = {
    {"row", "seq", WD_COLUMN_TEXT, false},
    {"signed", "signed_ms", WD_COLUMN_TIME, false},
    {NULL, NULL, WD_COLUMN_TEXT, false},
};

static error_t parse_checkpoint(int key, char *value, struct argp_state *state)
{
    checkpoint_arguments *args = state->input;
    switch (key) {
    case OPTION_NOW:
        args->ask.now = true;
        return 0;
    case OPTION_AT:
        args->ask.at_seq = wd_tokctl_number(state, "--at", value, 1, INT64_MAX);
        return 0;
    case OPTION_OUT:
        args->out = value;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static wd_status keep(const char *path, const char *text, wd_error *err)
{
    WD_AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    const size_t size = strlen(text);
    if (fd < 0)
        return wd_fail(err,
                       errno == EEXIST ? WD_FAILED_PRECONDITION : WD_PERMISSION_DENIED,
                       "--out %s: %s", path, strerrordesc_np(errno));
    if (write(fd, text, size) == (ssize_t)size && fsync(fd) == 0)
        return WD_OK;
    return wd_fail(err, WD_INTERNAL, "--out %s: %s", path, strerrordesc_np(errno));
}

/* The text itself is what people want of it; programs get all members. */
static bool print_checkpoint(const wd_tokctl *ctl,
                             const Warded__V1__CheckpointReply *reply, bool kept)
{
    const bool table = ctl->format == WD_FORMAT_TABLE && ctl->field == NULL;
    if (table && !kept)
        return fputs(reply->checkpoint, stdout) >= 0 && fflush(stdout) == 0;
    return wd_output_one(ctl, checkpoint_members, wd_record(&reply->base));
}

static int run_checkpoint(wd_tokctl *ctl, int argc, char **argv)
{
    checkpoint_arguments args = {.ctl = ctl};
    wd_error err = {0};
    const ProtobufCMessage *message = NULL;
    WD_AUTO(wd_backend) *backend = NULL;
    warded__v1__checkpoint_request__init(&args.ask);
    wd_tokctl_parse(&wd_verb_audit_checkpoint, argc, argv, &args);
    if (wd_backend_open(ctl, &backend, &err) != WD_OK ||
        wd_backend_call(backend, WD_AUDIT_METHOD(Checkpoint), &args.ask.base, &message,
                        &err) != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    const Warded__V1__CheckpointReply *reply =
        (const Warded__V1__CheckpointReply *)message;
    if (args.out != NULL && keep(args.out, reply->checkpoint, &err) != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    return print_checkpoint(ctl, reply, args.out != NULL) ? WD_EXIT_OK : WD_EXIT_FAILED;
}

const wd_verb wd_verb_audit_checkpoint = {
    .group = "audit",
    .name = "checkpoint",
    .help = "the newest signed checkpoint",
    .doc = checkpoint_doc,
    .options = checkpoint_options,
    .parser = parse_checkpoint,
    .run = run_checkpoint,
};
