/* tokctl audit verify - every row against its hash, its neighbour and the witnesses. */
#include <stdio.h>

#include "proto/c/sha256.h"
#include "store/audit_verify.h"
#include "store/tokctl/filters.h"
#include "store/tokctl/output.h"
#include "store/tokctl/witness.h"

#define WITNESSES_COUNT 64U

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    wd_audit_range range;
    const char *witnesses[WITNESSES_COUNT];
    size_t n_witnesses;
} arguments;

static const struct argp_option options[] = {
    {"from", 'f', "SEQ", 0, "First row [1]", 0},
    {"to", 't', "SEQ", 0, "Last row [the newest]", 0},
    {"witness", 'w', "FILE|DIR", 0,
     "Heads that somebody saw: lines \"SEQ HEXHASH\"; may be given again", 0},
    {0},
};

static const char doc[] =
    "Check that the audit trail is what was written: no row changed, missing, moved or "
    "put "
    "in. A tail that was cut off, or a trail made anew from some row on, shows only "
    "against "
    "heads kept elsewhere: every reply carries one, and clients keep them. Of the "
    "whole "
    "trail, also that each token is what the trail says of it: none widened, put off, "
    "brought back, put in or taken out; and that no page or index of a file is "
    "damaged.\v"
    "  tokctl audit verify --witness ~/.local/state/warded/heads/GATE\n"
    "  tokctl audit verify -o jsonl | jq -r .head >>heads    # be a witness "
    "yourself\n\n"
    "Exit status 7: it does not verify; the first bad row is named, or the file.";

static const wd_column sound_members[] = {
    {"verifies", "ok", WD_COLUMN_TEXT},   {"rows", "rows", WD_COLUMN_TEXT},
    {"head", "head", WD_COLUMN_TEXT},     {"witnessed", "witnessed", WD_COLUMN_TEXT},
    {"tokens", "tokens", WD_COLUMN_TEXT}, {NULL, NULL, WD_COLUMN_TEXT},
};

static const wd_column bad_members[] = {
    {"verifies", "ok", WD_COLUMN_TEXT},   {"rows", "rows", WD_COLUMN_TEXT},
    {"head", "head", WD_COLUMN_TEXT},     {"witnessed", "witnessed", WD_COLUMN_TEXT},
    {"tokens", "tokens", WD_COLUMN_TEXT}, {"first bad row", "bad_seq", WD_COLUMN_TEXT},
    {"fault", "fault", WD_COLUMN_TEXT},   {NULL, NULL, WD_COLUMN_TEXT},
};

static void add_witness(arguments *args, const char *path, struct argp_state *state)
{
    if (args->n_witnesses == WITNESSES_COUNT)
        wd_tokctl_misuse(state, "more than %u witnesses", WITNESSES_COUNT);
    args->witnesses[args->n_witnesses++] = path;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->ctl;
        return 0;
    case 'f':
        args->range.first = wd_filters_number(state, "--from", value, 1, INT64_MAX);
        return 0;
    case 't':
        args->range.last = wd_filters_number(state, "--to", value, 1, INT64_MAX);
        return 0;
    case 'w':
        add_witness(args, value, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool print(const wd_tokctl *ctl, const wd_audit_report *report, bool sound)
{
    char hash[WD_SHA256_HEX_BYTES];
    char head[WD_SHA256_HEX_BYTES + 24]; /* in the form of a witness */
    wd_hex((wd_span){report->head.hash, WD_AUDIT_HASH_BYTES}, hash);
    (void)snprintf(head, sizeof(head), "%llu %s", (unsigned long long)report->head.seq,
                   hash);
    json_t *view =
        json_pack("{s:b, s:I, s:s, s:I, s:s, s:I, s:I, s:I, s:s}", "ok", (int)sound,
                  "rows", (json_int_t)report->rows, "head", head, "head_seq",
                  (json_int_t)report->head.seq, "head_hash", hash, "witnessed",
                  (json_int_t)report->n_witnessed, "tokens",
                  (json_int_t)report->n_tokens, "bad_seq", (json_int_t)report->bad_seq,
                  "fault", wd_audit_fault_name(report->fault));
    return wd_output_one(ctl->format, sound ? sound_members : bad_members, view);
}

static wd_status read_witnesses(const arguments *args, wd_witness *witness,
                                wd_error *err)
{
    for (size_t i = 0; i < args->n_witnesses; i++)
        WD_TRY(wd_witness_read(witness, args->witnesses[i], err));
    return WD_OK;
}

static int verify(arguments *args, const wd_witness *witness)
{
    wd_error err = {0};
    wd_audit_report report;
    WD_AUTO(wd_reader) *reader = NULL;
    args->range.witnessed = witness->heads;
    args->range.n_witnessed = witness->n;
    if (wd_tokctl_read(args->ctl, &reader, &err) != WD_OK)
        return wd_tokctl_fail(args->ctl, &err);
    wd_status status = wd_audit_verify(reader, &args->range, &report, &err);
    if (status != WD_OK && report.fault == WD_AUDIT_SOUND)
        return wd_tokctl_fail(args->ctl, &err); /* it could not be read */
    bool printed = print(args->ctl, &report, status == WD_OK);
    if (status != WD_OK)
        return wd_tokctl_fail(args->ctl, &err);
    return printed ? WD_EXIT_OK : WD_EXIT_FAILED;
}

int wd_tokctl_audit_verify(wd_tokctl *ctl, int argc, char **argv)
{
    const wd_tokctl_args shape = {options, parse, NULL, doc, NULL};
    arguments args = {.ctl = ctl};
    wd_error err = {0};
    __attribute__((cleanup(wd_witness_done))) wd_witness witness = {0};
    wd_tokctl_parse(&shape, argc, argv, &args);
    if (read_witnesses(&args, &witness, &err) != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    return verify(&args, &witness);
}
