#include "server/audit_keeper.h"

#include <stdlib.h>

#include "proto/tls/sign.h"
#include "server/checkpoint_check.h"
#include "server/repeats.h"
#include "store/archive.h"

_Static_assert(WD_SIGNATURE_BYTES <= WD_CHECKPOINT_SIGNATURE, "a signature fits");
_Static_assert(WD_RETENTION_LEAST_MS == WD_PRUNE_YOUNGEST_MS, "one least age");
_Static_assert(WD_KEY_ID_BYTES == WD_CHECKPOINT_KEY_ID, "one form of key ids");

struct wd_audit_keeper {
    wd_archive *archive;
    wd_pruner *pruner;
    atomic_bool stop; /* the pruner's */
    wd_checkpointer *checkpointer;
    wd_tls_credentials *credentials; /* a count */
    char key_id[WD_KEY_ID_BYTES];
    char *certificate;          /* owned */
    char *ca;                   /* so too */
    wd_repeats bad_checkpoints; /* the checkpointer's thread's */
    wd_repeats bad_passes;      /* the archive's */
    wd_repeats bad_prunes;      /* so too */
};

/* --- called from their threads ------------------------------------------------------------ */

static void archive_passed(void *arg, const wd_error *err)
{
    if (err != NULL)
        wd_repeats_log(arg, "audit.archive_failed", NULL, err->msg);
    else
        wd_repeats_log_over(arg, "audit.archive_works");
}

static void prune_passed(void *arg, const wd_error *err)
{
    if (err != NULL)
        wd_repeats_log(arg, "audit.prune_failed", NULL, err->msg);
    else
        wd_repeats_log_over(arg, "audit.prune_works");
}

static void checkpoint_passed(void *arg, const wd_error *err)
{
    if (err != NULL)
        wd_repeats_log(arg, "audit.checkpoint_failed", NULL, err->msg);
    else
        wd_repeats_log_over(arg, "audit.checkpoint_works");
}

static wd_status sign(void *arg, wd_span text, uint8_t *ret_signature, size_t *ret_size,
                      wd_error *err)
{
    return wd_tls_sign(arg, text, ret_signature, ret_size, err);
}

/* --- start and stop ------------------------------------------------------------------------ */

static wd_status start_checkpointer(wd_audit_keeper *keeper, wd_gate *gate,
                                    wd_error *err)
{
    const wd_checkpointer_options options = {
        .store = gate->store,
        .writer = gate->writer,
        .signer = {.gate = gate->uri,
                   .key_id = keeper->key_id,
                   .certificate = keeper->certificate,
                   .sign = sign,
                   .arg = keeper->credentials},
        .passed = checkpoint_passed,
        .arg = &keeper->bad_checkpoints,
    };

    return wd_checkpointer_start(&options, &keeper->checkpointer, err);
}

static wd_status open_pruner(wd_audit_keeper *keeper, wd_gate *gate, wd_error *err)
{
    const wd_pruner_options options = {
        .store = gate->store,
        .writer = gate->writer,
        .exports = gate->config->audit.export_dir,
        .age_ms = (int64_t)gate->config->audit.retention.age_ms,
        .bytes = gate->config->audit.retention.bytes,
        .principal = gate->uri,
        .stop = &keeper->stop,
    };

    return wd_pruner_open(&options, &keeper->pruner, err);
}

static wd_status start_archive(wd_audit_keeper *keeper, wd_gate *gate, wd_error *err)
{
    const wd_archive_options options = {
        .store = gate->store,
        .writer = gate->writer,
        .segment_bytes = gate->config->audit.segment_bytes,
        .segment_ms = (int64_t)gate->config->audit.segment_ms,
        .passed = archive_passed,
        .arg = &keeper->bad_passes,
        .pruner = keeper->pruner,
        .prune_passed = prune_passed,
        .prune_arg = &keeper->bad_prunes,
    };

    return wd_archive_start(&options, &keeper->archive, err);
}

wd_status wd_audit_keeper_start(wd_gate *gate, wd_tls_credentials *credentials,
                                wd_error *err)
{
    wd_audit_keeper *keeper = calloc(1, sizeof(*keeper));

    if (keeper == NULL)
        return wd_fail(err, WD_INTERNAL, "no memory for the trail's keeper");
    gate->audit_keeper = keeper; /* a half-made one is stopped with the gate */
    keeper->credentials = wd_tls_credentials_ref(credentials);
    wd_tls_key_id(credentials, keeper->key_id);
    WD_TRY(wd_tls_certificate_pem(credentials, &keeper->certificate, err));
    WD_TRY(wd_tls_ca_pem(credentials, &keeper->ca, err));
    WD_TRY(start_checkpointer(keeper, gate, err));
    WD_TRY(open_pruner(keeper, gate, err));
    return start_archive(keeper, gate, err);
}

void wd_audit_keeper_hurry(wd_audit_keeper *keeper)
{
    if (keeper != NULL)
        atomic_store(&keeper->stop, true);
}

void wd_audit_keeper_stop(wd_audit_keeper *keeper)
{
    if (keeper == NULL)
        return;
    wd_audit_keeper_hurry(keeper);
    wd_archive_stop(keeper->archive);
    wd_pruner_close(keeper->pruner);
    wd_checkpointer_stop(keeper->checkpointer);
    wd_tls_credentials_free(keeper->credentials);
    free(keeper->certificate);
    free(keeper->ca);
    free(keeper);
}

void wd_audit_keeper_set_retention(wd_audit_keeper *keeper, const wd_config *config)
{
    const wd_prune_due due = {.age_ms = (int64_t)config->audit.retention.age_ms,
                              .bytes = config->audit.retention.bytes};

    wd_pruner_set_due(keeper->pruner, &due);
}

wd_pruner *wd_audit_keeper_pruner(wd_audit_keeper *keeper)
{
    return keeper->pruner;
}

wd_checkpointer *wd_audit_keeper_checkpointer(wd_audit_keeper *keeper)
{
    return keeper->checkpointer;
}

wd_checker wd_audit_keeper_checker(const wd_audit_keeper *keeper)
{
    return wd_checkpoint_checker(keeper->ca);
}
