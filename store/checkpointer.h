/* checkpointer.h - signs the head of the chain: each second with news, or 1,000 rows.
 *
 * A checkpoint goes into the table `checkpoints`, the newest also into DIR/checkpoint,
 * where whoever keeps it elsewhere finds it: written whole, by renaming. The signer's
 * certificate is kept in the store, so that old checkpoints can be checked when the key
 * has been renewed.
 *
 * Threads: its own. wd_checkpointer_now: any.
 * Owns:    the thread; the signer outlives it.
 * Source:  docs/audit.md, "Checkpoints". */
#ifndef WD_STORE_CHECKPOINTER_H
#define WD_STORE_CHECKPOINTER_H

#include "store/checkpoint.h"
#include "store/writer.h"

#define WD_CHECKPOINT_MS   1000
#define WD_CHECKPOINT_ROWS 1000U

typedef struct wd_checkpointer_options {
    wd_store *store;
    wd_writer *writer; /* NULL: the store is the caller's own; then `now` alone works */
    wd_signer signer;  /* copied; what it points to is borrowed */
    /* How the thread fared: for the log. NULL: well; else it tries again in a second. */
    void (*passed)(void *arg, const wd_error *err);
    void *arg;
} wd_checkpointer_options;

typedef struct wd_checkpointer wd_checkpointer;

/* Starts the thread, where there is a writer. Stop it before the writer. */
WD_MUST_USE wd_status wd_checkpointer_start(const wd_checkpointer_options *options,
                                            wd_checkpointer **ret_checkpointer,
                                            wd_error *err);

/* Signs once more if there is news, ends, frees. NULL is fine. */
void wd_checkpointer_stop(wd_checkpointer *checkpointer);
WD_DEFINE_AUTO(wd_checkpointer, wd_checkpointer_stop)

/* A checkpoint of the newest durable row is on record when it returns.
 * Errors: UNAVAILABLE AUDIT_UNWRITABLE; the signer's */
WD_MUST_USE wd_status wd_checkpointer_now(wd_checkpointer *checkpointer, wd_error *err);

/* The first checkpoint at or after row `at_seq`; 0: the newest. Its text, from malloc.
 * Errors: NOT_FOUND there is none yet; DATA_LOSS */
WD_MUST_USE wd_status wd_checkpoint_find(wd_reader *reader, uint64_t at_seq,
                                         char **ret_text, wd_error *err);

/* The certificate of a key that has signed, PEM, from malloc.  Errors: NOT_FOUND */
WD_MUST_USE wd_status wd_checkpoint_certificate(wd_reader *reader, const char *key_id,
                                                char **ret_pem, wd_error *err);

#endif
