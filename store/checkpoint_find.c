/* Checkpoints that are on record, wherever their rows are. */
#include <stdio.h>
#include <string.h>

#include "store/checkpointer.h"
#include "store/internal.h"

static wd_status find_in(const wd_source *source, uint64_t at_seq, char **ret_text,
                         wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    bool row = false;
    WD_TRY(wd_sql_prepare(source->db,
                          at_seq != 0 ? "SELECT text FROM checkpoints WHERE seq >= ?1"
                                        " ORDER BY seq LIMIT 1"
                                      : "SELECT text FROM checkpoints"
                                        " ORDER BY seq DESC LIMIT 1",
                          &stmt, err));
    (void)sqlite3_bind_int64(stmt, 1, (int64_t)at_seq);
    WD_TRY(wd_sql_next(stmt, &row, err));
    if (!row)
        return WD_OK;
    const char *text = wd_sql_text(stmt, 0);
    WD_TRY(wd_sql_whole(stmt, err));
    *ret_text = strdup(text);
    return *ret_text != NULL
               ? WD_OK
               : wd_refuse(err, WD_REASON_CAPACITY, "no memory for a checkpoint");
}

wd_status wd_checkpoint_find(wd_reader *reader, uint64_t at_seq, char **ret_text,
                             wd_error *err)
{
    WD_AUTO_TRAIL trail = {0};
    WD_AUTO(wd_text) *text = NULL;
    WD_TRY(wd_reader_trail(reader, &trail, err));
    size_t n = wd_trail_count(&trail);
    for (size_t i = 0; i < n && text == NULL; i++) {
        wd_source source;
        size_t at = at_seq != 0 ? i : n - 1 - i;
        WD_TRY(wd_trail_source(&trail, at, &source, err));
        if (source.segment != NULL &&
            (source.segment->kept_only || source.last < at_seq))
            continue;
        WD_TRY(find_in(&source, at_seq, &text, err));
    }
    if (text == NULL)
        return wd_refuse(err, WD_REASON_NOT_ON_RECORD,
                         "there is no checkpoint at or after row %llu",
                         (unsigned long long)at_seq);
    *ret_text = WD_STEAL(text);
    return WD_OK;
}

wd_status wd_checkpoint_certificate(wd_reader *reader, const char *key_id,
                                    char **ret_pem, wd_error *err)
{
    char name[32];
    char pem[WD_CERTIFICATE_BYTES];
    (void)snprintf(name, sizeof(name), WD_META_SIGNER "%.16s", key_id);
    WD_TRY(wd_meta_read(reader->db, name, pem, sizeof(pem), err));
    if (pem[0] == '\0')
        return wd_fail(err, WD_NOT_FOUND, "key %.16s has signed nothing here", key_id);
    *ret_pem = strdup(pem);
    return *ret_pem != NULL
               ? WD_OK
               : wd_refuse(err, WD_REASON_CAPACITY, "no memory for a certificate");
}
