/* tokctl audit export - rows in a format for others, with the digest of what was written. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proto/c/cleanup.h"
#include "proto/c/sha256.h"
#include "store/tokctl/backend.h"
#include "store/tokctl/filters.h"
#include "store/tokctl/interrupt.h"
#include "store/tokctl/progress.h"
#include "store/tokctl/signing.h"
#include "store/tokctl/verbs.h"
#include "store/tokctl/views.h"

enum option_key {
    OPTION_FORMAT = 256,
    OPTION_FROM,
    OPTION_TO,
    OPTION_OUT,
    OPTION_SIGN
};

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    wd_filters filters;
    Warded__V1__ExportRequest ask;
    const char *out, *sign;
} arguments;

static const struct argp_option options[] = {
    {"format", OPTION_FORMAT, "FORMAT", 0, "jsonl, csv, ocsf, ecs or cef [jsonl]", 0},
    {"from", OPTION_FROM, "SEQ", 0, "First row [1]", 0},
    {"to", OPTION_TO, "SEQ", 0, "Last row [the newest]", 0},
    {"out", OPTION_OUT, "FILE", 0, "To a new file of mode 0600 [standard output]", 0},
    {"sign", OPTION_SIGN, "FILE", 0,
     "With --out: sign it with the private key in FILE, of mode 0600, an EC key over "
     "P-256 in PEM; the signature goes to the new file OUT.sig",
     0},
    {0},
};

static const char doc[] =
    "Export rows of the audit trail. What was written is told with its SHA-256, which "
    "is on record too (rows audit.export).\v"
    "  tokctl audit export --format csv --since 30d --out june.csv\n"
    "  tokctl audit export --format ecs --event 'token.*' | head\n"
    "\n"
    "Whoever has the public key of what was signed needs openssl alone:\n"
    "\n"
    "  tokctl audit export --out rows --sign me.key\n"
    "  openssl pkey -in me.key -pubout -out me.pub\n"
    "  openssl dgst -sha256 -verify me.pub -signature rows.sig rows";

static const wd_column members[] = {
    {"file", "file", WD_COLUMN_TEXT, false},
    {"rows", "rows", WD_COLUMN_TEXT, false},
    {"bytes", "bytes", WD_COLUMN_TEXT, false},
    {"last row", "to_seq", WD_COLUMN_TEXT, false},
    {"sha256", "sha256", WD_COLUMN_TEXT, false},
    {"signature", "signature", WD_COLUMN_TEXT, false},
    {"key", "key_id", WD_COLUMN_TEXT, false},
    {NULL, NULL, WD_COLUMN_TEXT, false},
};

static void take_format(arguments *args, const char *name, struct argp_state *state)
{
    static const char *const names[] = {"jsonl", "csv", "ocsf", "ecs", "cef"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i], name) == 0) {
            args->ask.format = (Warded__V1__ExportRequest__Format)i;
            return;
        }
    }
    wd_tokctl_misuse(state, "--format %s: jsonl, csv, ocsf, ecs or cef", name);
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case OPTION_FORMAT:
        take_format(args, value, state);
        return 0;
    case OPTION_FROM:
        args->ask.from_seq = wd_tokctl_number(state, "--from", value, 1, INT64_MAX);
        return 0;
    case OPTION_TO:
        args->ask.to_seq = wd_tokctl_number(state, "--to", value, 1, INT64_MAX);
        return 0;
    case OPTION_OUT:
        args->out = value;
        return 0;
    case OPTION_SIGN:
        args->sign = value;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* What has been written so far. */
typedef struct written {
    wd_sha256 sha;
    uint64_t rows, bytes;
    uint8_t digest[WD_SHA256_BYTES]; /* at the end */
    wd_signing signing;
} written;

static wd_status write_all(int fd, const ProtobufCBinaryData *data, wd_error *err)
{
    for (size_t at = 0; at < data->len;) {
        ssize_t n = write(fd, data->data + at, data->len - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return wd_fail(err, WD_INTERNAL, "could not write: %s",
                           strerrordesc_np(errno));
        at += (size_t)n;
    }
    return WD_OK;
}

static wd_status export_all(arguments *args, wd_backend *backend, int fd, written *w,
                            wd_error *err)
{
    wd_progress progress = wd_progress_begin(args->ctl, "rows");
    wd_status status = WD_OK;
    do {
        const ProtobufCMessage *message = NULL;
        status = wd_backend_call(backend, WD_AUDIT_METHOD(Export), &args->ask.base,
                                 &message, err);
        if (status != WD_OK)
            break;
        const Warded__V1__ExportReply *reply = (const Warded__V1__ExportReply *)message;
        status = write_all(fd, &reply->data, err);
        wd_sha256_add(&w->sha, reply->data.data, reply->data.len);
        w->bytes += reply->data.len;
        w->rows += reply->rows;
        args->ask.from_seq = reply->next_seq;
        args->ask.to_seq = reply->to_seq;
        args->ask.goes_on = true;
        wd_progress_show(&progress, w->rows, 0);
    } while (status == WD_OK && args->ask.from_seq != 0);
    wd_progress_end(&progress);
    return status;
}

static wd_status open_out(const arguments *args, int *ret_fd, wd_error *err)
{
    *ret_fd = args->out == NULL
                  ? dup(STDOUT_FILENO)
                  : open(args->out, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (*ret_fd < 0)
        return wd_fail(err,
                       errno == EEXIST ? WD_FAILED_PRECONDITION : WD_PERMISSION_DENIED,
                       "--out %s: %s", args->out != NULL ? args->out : "-",
                       strerrordesc_np(errno));
    wd_interrupt_guard(args->ctl->interrupt, args->out);
    return WD_OK;
}

/* The summary: on standard output when the rows went to a file, else on standard error. */
static bool tell(const arguments *args, const written *w)
{
    char text[WD_SHA256_HEX_BYTES];
    wd_hex((wd_span){w->digest, sizeof(w->digest)}, text);
    if (args->out == NULL) {
        if (!args->ctl->quiet)
            (void)fprintf(stderr, "%llu rows, sha256 %s\n", (unsigned long long)w->rows,
                          text);
        return true;
    }
    return wd_output_one(args->ctl, members,
                         json_pack("{s:o, s:I, s:I, s:I, s:s, s:o, s:s}", "file",
                                   wd_output_text(args->out), "rows",
                                   (json_int_t)w->rows, "bytes", (json_int_t)w->bytes,
                                   "to_seq", (json_int_t)args->ask.to_seq, "sha256",
                                   text, "signature", wd_output_text(w->signing.path),
                                   "key_id", w->signing.key_id));
}

/* On disk, with its signature. */
static wd_status finish(const arguments *args, int fd, written *w, wd_error *err)
{
    wd_sha256_end(&w->sha, w->digest);
    if (args->out != NULL && fsync(fd) != 0)
        return wd_fail(err, WD_INTERNAL, "--out %s: %s", args->out,
                       strerrordesc_np(errno));
    return wd_signing_write(&w->signing, w->digest, err);
}

static wd_status export_to(arguments *args, written *w, wd_error *err)
{
    WD_AUTO_FD int fd = -1;
    WD_AUTO(wd_backend) *backend = NULL;
    WD_TRY(wd_signing_open(args->sign, args->out, &w->signing, err));
    WD_TRY(wd_backend_open(args->ctl, &backend, err));
    WD_TRY(open_out(args, &fd, err));
    wd_status status = export_all(args, backend, fd, w, err);
    if (status == WD_OK)
        status = finish(args, fd, w, err);
    if (status != WD_OK && args->out != NULL)
        (void)unlink(args->out);
    wd_interrupt_guard(args->ctl->interrupt, NULL);
    return status;
}

static int run_it(arguments *args)
{
    wd_error err = {0};
    written w = {.rows = 0};
    wd_sha256_init(&w.sha);
    wd_status status = export_to(args, &w, &err);
    wd_signing_done(&w.signing);
    if (status != WD_OK)
        return wd_tokctl_fail(args->ctl, &err);
    return tell(args, &w) ? WD_EXIT_OK : WD_EXIT_FAILED;
}

static int run(wd_tokctl *ctl, int argc, char **argv)
{
    arguments args = {.ctl = ctl};
    warded__v1__export_request__init(&args.ask);
    args.ask.filter =
        wd_filters_parse(&wd_verb_audit_export, argc, argv, &args, &args.filters);
    if (args.sign != NULL && args.out == NULL) {
        wd_error err;
        (void)wd_fail(&err, WD_INVALID_ARGUMENT,
                      "--sign is for a file: say --out as well");
        wd_tokctl_usage(ctl, &err);
    }
    return run_it(&args);
}

const wd_verb wd_verb_audit_export = {
    .group = "audit",
    .name = "export",
    .help = "rows for others, with their digest, signed if you like",
    .doc = doc,
    .options = options,
    .parser = parse,
    .more = &wd_filters_argp,
    .more_title = "Filters:",
    .more_offset = offsetof(arguments, filters),
    .run = run,
};
