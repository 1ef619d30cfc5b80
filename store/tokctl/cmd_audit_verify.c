/* tokctl audit verify - every row against its hash, its neighbour and the witnesses. */
#include <stdio.h>
#include <string.h>

#include "proto/c/sha256.h"
#include "store/tokctl/backend.h"
#include "store/tokctl/given.h"
#include "store/tokctl/verbs.h"
#include "store/tokctl/views.h"
#include "store/tokctl/witness.h"
#include "warded/v1/audit.pb-c.h"

#define WITNESSES_COUNT 64U

enum option_key {
    OPTION_CHECKPOINT = 256,
    OPTION_ELSEWHERE,
    OPTION_EXPORTS,
    OPTION_CA
};

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    Warded__V1__VerifyRequest ask;
    const char *witnesses[WITNESSES_COUNT];
    size_t n_witnesses;
    const char *checkpoint;
} arguments;

static const struct argp_option options[] = {
    {"from", 'f', "SEQ", 0, "First row [1, or the one after --checkpoint]", 0},
    {"to", 't', "SEQ", 0, "Last row [the newest]", 0},
    {"witness", 'w', "FILE|DIR", 0,
     "Heads that somebody saw: lines \"SEQ HEXHASH\"; may be given again", 0},
    {"checkpoint", OPTION_CHECKPOINT, "FILE", 0,
     "A signed checkpoint, to be checked and begun with", 0},
    {"exports-elsewhere", OPTION_ELSEWHERE, NULL, 0,
     "Exports of pruned rows were moved away: do not look for them", 0},
    {"exports", OPTION_EXPORTS, "DIR", 0,
     "With --db or --home: where they are [exports, in the store's folder]", 0},
    {"ca", OPTION_CA, "FILE", 0,
     "With --db or --home: certificates of the CA of who may sign [gate/ca.pem beside "
     "the store's folder, if it is there]",
     0},
    {0},
};

static const char doc[] =
    "Check that the audit trail is what was written: no row changed, missing, moved or "
    "put in. A tail that was cut off, or a trail made anew from some row on, shows "
    "only against heads kept elsewhere: every reply carries one, and clients keep "
    "them. Of the whole trail, also that each token is what the trail says of it: "
    "none widened, put off, brought back, put in or taken out; that what was pruned "
    "has "
    "a tombstone, and its export is there and unchanged; and that no page or index of "
    "a file is damaged. Heads and checkpoints of rows that were pruned are looked for "
    "in the exports; where those are elsewhere, nothing is known of them, and the exit "
    "status is 8.\v"
    "  tokctl audit verify --witness ~/.local/state/warded/heads/GATE\n"
    "  tokctl audit verify -o jsonl | jq -r .head >>heads    # be a witness "
    "yourself\n\n"
    "Exit status 7: it does not verify; the first bad row is named, or the file. 8: it "
    "does, but not all that was given could be checked.";

#define VERIFIED                                                                       \
    {"verifies", "ok", WD_COLUMN_STATE, false},                                        \
        {"rows", "rows", WD_COLUMN_TEXT, false},                                       \
        {"head", "head", WD_COLUMN_TEXT, false},                                       \
        {"witnessed", "witnessed", WD_COLUMN_TEXT, false},                             \
        {"tokens", "tokens", WD_COLUMN_TEXT, false},                                   \
        {"checkpoints", "checkpoints", WD_COLUMN_TEXT, false},                         \
    {                                                                                  \
        "tombstones", "tombstones", WD_COLUMN_TEXT, false                              \
    }

static const wd_column sound_members[] = {
    VERIFIED,
    {NULL, NULL, WD_COLUMN_TEXT, false},
};

static const wd_column bad_members[] = {
    VERIFIED,
    {"first bad row", "bad_seq", WD_COLUMN_TEXT, false},
    {"fault", "fault", WD_COLUMN_TEXT, false},
    {NULL, NULL, WD_COLUMN_TEXT, false},
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
    case 'f':
        args->ask.from_seq = wd_tokctl_number(state, "--from", value, 1, INT64_MAX);
        return 0;
    case 't':
        args->ask.to_seq = wd_tokctl_number(state, "--to", value, 1, INT64_MAX);
        return 0;
    case 'w':
        add_witness(args, value, state);
        return 0;
    case OPTION_CHECKPOINT:
        args->checkpoint = value;
        return 0;
    case OPTION_ELSEWHERE:
        args->ask.exports_elsewhere = true;
        return 0;
    case OPTION_EXPORTS:
        args->ctl->exports = value;
        return 0;
    case OPTION_CA:
        args->ctl->ca = value;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* --- the request --------------------------------------------------------------------------- */

/* Heads as messages: what points to what. Freed with free(). */
typedef struct heads {
    Warded__V1__AuditHead *messages;
    Warded__V1__AuditHead **list;
} heads;

static void heads_done(heads *h)
{
    free(h->messages);
    free(h->list);
}

static wd_status fill_heads(arguments *args, wd_witness *witness, heads *h,
                            wd_error *err)
{
    h->messages = calloc(witness->n + 1, sizeof(*h->messages));
    h->list = calloc(witness->n + 1, sizeof(*h->list));
    if (h->messages == NULL || h->list == NULL)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for the heads");
    for (size_t i = 0; i < witness->n; i++) {
        warded__v1__audit_head__init(&h->messages[i]);
        h->messages[i].seq = witness->heads[i].seq;
        h->messages[i].hash.data = witness->heads[i].hash;
        h->messages[i].hash.len = WD_AUDIT_HASH_BYTES;
        h->list[i] = &h->messages[i];
    }
    args->ask.witnessed = h->list;
    args->ask.n_witnessed = witness->n;
    return WD_OK;
}

static wd_status read_all(arguments *args, wd_witness *witness, heads *h,
                          char **ret_checkpoint, wd_error *err)
{
    for (size_t i = 0; i < args->n_witnesses; i++)
        WD_TRY(wd_witness_read(witness, args->witnesses[i], err));
    WD_TRY(fill_heads(args, witness, h, err));
    if (args->checkpoint == NULL)
        return WD_OK;
    WD_TRY(wd_given_text_read("--checkpoint", args->checkpoint, ret_checkpoint, err));
    args->ask.checkpoint = *ret_checkpoint;
    return WD_OK;
}

/* --- the answer ------------------------------------------------------------------------------ */

/* "SEQ HEXHASH", the form of a witness, in place of the message of the two. */
static json_t *record_of(const Warded__V1__VerifyReply *reply)
{
    json_t *record = wd_record(&reply->base);
    char hash[WD_SHA256_HEX_BYTES] = "";
    char head[WD_SHA256_HEX_BYTES + 24] = "";
    if (record == NULL || reply->head == NULL ||
        reply->head->hash.len != WD_AUDIT_HASH_BYTES)
        return record;
    wd_hex((wd_span){reply->head->hash.data, reply->head->hash.len}, hash);
    (void)snprintf(head, sizeof(head), "%llu %s", (unsigned long long)reply->head->seq,
                   hash);
    (void)json_object_set_new(record, "head", json_string(head));
    (void)json_object_set_new(record, "head_seq",
                              json_integer((json_int_t)reply->head->seq));
    (void)json_object_set_new(record, "head_hash", json_string(hash));
    return record;
}

/* What it says nothing of is said. */
static bool told_unchecked(const arguments *args, const Warded__V1__VerifyReply *reply)
{
    if (reply->issuer_unchecked)
        (void)fprintf(
            stderr,
            "%s: whether the CA has issued the certificates of who signed was "
            "not checked: give --ca FILE\n",
            args->ctl->verb);
    if (reply->unchecked > 0)
        (void)fprintf(
            stderr,
            "%s: %u of the heads that were seen are of rows that were pruned, and "
            "were not checked: the exports are needed\n",
            args->ctl->verb, reply->unchecked);
    return reply->unchecked > 0;
}

static int verify(arguments *args)
{
    wd_error err = {0};
    const ProtobufCMessage *message = NULL;
    WD_AUTO(wd_backend) *backend = NULL;
    if (wd_backend_open(args->ctl, &backend, &err) != WD_OK ||
        wd_backend_call(backend, WD_AUDIT_METHOD(Verify), &args->ask.base, &message,
                        &err) != WD_OK)
        return wd_tokctl_fail(args->ctl, &err);
    const Warded__V1__VerifyReply *reply = (const Warded__V1__VerifyReply *)message;
    if (!wd_output_one(args->ctl, reply->ok ? sound_members : bad_members,
                       record_of(reply)))
        return WD_EXIT_FAILED;
    if (!reply->ok) {
        (void)fprintf(stderr, "%s: %s\n", args->ctl->verb, reply->message);
        return WD_EXIT_INTEGRITY;
    }
    return told_unchecked(args, reply) ? WD_EXIT_PARTIAL : WD_EXIT_OK;
}

static int run(wd_tokctl *ctl, int argc, char **argv)
{
    arguments args = {.ctl = ctl};
    wd_error err = {0};
    WD_AUTO(wd_text) *checkpoint = NULL;
    __attribute__((cleanup(wd_witness_done))) wd_witness witness = {0};
    __attribute__((cleanup(heads_done))) heads h = {NULL, NULL};
    warded__v1__verify_request__init(&args.ask);
    wd_tokctl_parse(&wd_verb_audit_verify, argc, argv, &args);
    if (read_all(&args, &witness, &h, &checkpoint, &err) != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    return verify(&args);
}

const wd_verb wd_verb_audit_verify = {
    .group = "audit",
    .name = "verify",
    .help = "is the trail what was written?",
    .doc = doc,
    .options = options,
    .parser = parse,
    .flags = WD_VERB_OFFLINE,
    .run = run,
};
