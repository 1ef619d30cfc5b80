/* token_rows.h - the tokens table of the database, read and written row by row.
 *
 * Threads: inside a job's apply; the connection's owner.
 * Owns:    a change holds a count of its token until it is settled or undone.
 * Internal to store/. */
#ifndef WD_STORE_TOKEN_ROWS_H
#define WD_STORE_TOKEN_ROWS_H

#include "store/internal.h"
#include "store/token_family.h"

/* What the table in memory learns after the commit. */
typedef enum wd_change_kind {
    WD_CHANGE_ADD,
    WD_CHANGE_EXPIRES,   /* value: its end */
    WD_CHANGE_RETIRES,   /* value: the end of its overlap */
    WD_CHANGE_RESERVED,  /* value: uses of its family that are given away */
    WD_CHANGE_UNWRAPPED, /* id: what came out */
} wd_change_kind;

struct wd_token_change {
    wd_token_change *next;
    wd_change_kind kind;
    wd_token *token;
    int64_t value;
    char id[WD_TOKEN_ID_CHARS + 1];
};

/* Notes a change of the group in work. Errors: RESOURCE_EXHAUSTED */
WD_MUST_USE wd_status wd_tokens_note(wd_store *store, const wd_token_change *change,
                                     wd_error *err);

/* The row of one token, as the transaction sees it. Whether it was revoked in memory
 * alone counts too.
 * Errors: NOT_FOUND TOKEN_ID_UNKNOWN, UNAVAILABLE AUDIT_UNWRITABLE, here and below */
WD_MUST_USE wd_status wd_tokens_row(wd_store *store, const char *id,
                                    wd_token **ret_token, wd_error *err);

/* The newest generation of a family, and the one before it (NULL: none; both NULL: wraps
 * alone). */
WD_MUST_USE wd_status wd_tokens_newest(wd_store *store, const char *family,
                                       wd_token **ret_newest, wd_token **ret_older,
                                       wd_error *err);

WD_MUST_USE wd_status wd_tokens_insert_row(wd_store *store, const wd_token *token,
                                           wd_error *err);

/* UPDATE tokens SET `column` = value WHERE id. `column` is a name of ours. */
WD_MUST_USE wd_status wd_tokens_set_number(wd_store *store, const char *column,
                                           const char *id, int64_t value,
                                           wd_error *err);
WD_MUST_USE wd_status wd_tokens_set_text(wd_store *store, const char *column,
                                         const char *id, const char *text,
                                         wd_error *err);

/* The uses of a family that the database has given away. */
WD_MUST_USE wd_status wd_tokens_reserved(wd_store *store, const char *family,
                                         int64_t *ret_reserved, wd_error *err);

#endif
