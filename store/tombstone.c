#include "store/tombstone.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "store/internal.h"

#define META_NAME "pruned:%020llu" /* sorts as the numbers do */

static inline void auto_json(json_t **object)
{
    json_decref(*object);
}
#define AUTO_JSON __attribute__((cleanup(auto_json))) json_t

/* --- as text ---------------------------------------------------------------------- */

char *wd_tombstone_detail(const wd_tombstone *t, const char *why)
{
    const json_int_t rows = (json_int_t)t->last - (json_int_t)t->first + 1;
    AUTO_JSON *object = json_pack(
        "{s:I, s:I, s:I, s:s, s:s, s:I, s:s, s:I, s:s}", "first", (json_int_t)t->first,
        "last", (json_int_t)t->last, "rows", rows, "export", t->file, "sha256",
        t->sha256, "bytes", (json_int_t)t->bytes, "last_hash", t->last_hash, "kept",
        (json_int_t)t->kept, "kept_hash", t->kept_hash);
    if (object == NULL)
        return NULL;
    if (why != NULL && why[0] != '\0' &&
        json_object_set_new(object, "why", json_string(why)) != 0)
        return NULL;
    return json_dumps(object, JSON_COMPACT);
}

static bool take_text(const json_t *object, const char *name, char *ret, size_t size)
{
    const char *text = json_string_value(json_object_get(object, name));
    if (text == NULL || strlen(text) >= size)
        return false;
    memcpy(ret, text, strlen(text) + 1);
    return true;
}

static bool take_hash(const json_t *object, const char *name,
                      char ret[WD_SHA256_HEX_BYTES])
{
    uint8_t hash[WD_SHA256_BYTES];
    return take_text(object, name, ret, WD_SHA256_HEX_BYTES) &&
           wd_hex_parse(ret, hash, sizeof(hash));
}

static bool take_number(const json_t *object, const char *name, uint64_t *ret)
{
    const json_t *number = json_object_get(object, name);
    if (!json_is_integer(number) || json_integer_value(number) < 0)
        return false;
    *ret = (uint64_t)json_integer_value(number);
    return true;
}

bool wd_tombstone_parse(const char *detail, wd_tombstone *ret)
{
    AUTO_JSON *object = json_loads(detail, JSON_REJECT_DUPLICATES, NULL);
    wd_tombstone t = {.seq = 0};
    if (!json_is_object(object) || !take_number(object, "first", &t.first) ||
        !take_number(object, "last", &t.last) ||
        !take_number(object, "bytes", &t.bytes) ||
        !take_number(object, "kept", &t.kept) ||
        !take_text(object, "export", t.file, sizeof(t.file)) ||
        !take_hash(object, "sha256", t.sha256) ||
        !take_hash(object, "last_hash", t.last_hash) ||
        !take_hash(object, "kept_hash", t.kept_hash) || t.first == 0 ||
        t.last < t.first || strchr(t.file, '/') != NULL || t.file[0] == '\0')
        return false;
    *ret = t;
    return true;
}

/* --- lists ------------------------------------------------------------------------ */

void wd_tombstones_done(wd_tombstones *all)
{
    free(all->list);
    *all = (wd_tombstones){0};
}

wd_status wd_tombstones_add(wd_tombstones *all, const wd_tombstone *one, wd_error *err)
{
    if (all->n == all->room) {
        size_t room = all->room == 0 ? 16 : all->room * 2;
        wd_tombstone *list = reallocarray(all->list, room, sizeof(*list));
        if (list == NULL)
            return wd_refuse(err, WD_REASON_CAPACITY, "no memory for %zu tombstones",
                             room);
        all->list = list;
        all->room = room;
    }
    all->list[all->n++] = *one;
    return WD_OK;
}

/* "SEQ DETAIL". */
static wd_status read_one(sqlite3_stmt *stmt, wd_tombstone *ret, wd_error *err)
{
    const char *name = wd_sql_text(stmt, 0);
    const char *value = wd_sql_text(stmt, 1);
    char *detail = NULL;
    char wanted[40];
    uint64_t seq = strtoull(value, &detail, 10);
    WD_TRY(wd_sql_whole(stmt, err));
    bool good = *detail == ' ' && wd_tombstone_parse(detail + 1, ret);
    if (good) {
        ret->seq = seq;
        (void)snprintf(wanted, sizeof(wanted), META_NAME,
                       (unsigned long long)ret->first);
        good = strcmp(wanted, name) == 0;
    }
    return good ? WD_OK
                : wd_refuse(err, WD_REASON_CHAIN_BROKEN,
                            "the list of pruned segments was changed: %.60s", name);
}

wd_status wd_tombstones_read(sqlite3 *db, uint64_t low, uint64_t high,
                             wd_tombstones *ret, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_AUTO_TOMBSTONES all = {0};
    char from[40];
    char to[40];
    (void)snprintf(from, sizeof(from), META_NAME, (unsigned long long)low);
    (void)snprintf(to, sizeof(to), META_NAME, (unsigned long long)high);
    WD_TRY(wd_sql_prepare(db,
                          "SELECT name, value FROM meta WHERE name <= ?2 AND name >= "
                          " coalesce((SELECT max(name) FROM meta WHERE name <= ?1"
                          "           AND name >= 'pruned:'), 'pruned:') ORDER BY name",
                          &stmt, err));
    wd_sql_bind_text(stmt, 1, from);
    wd_sql_bind_text(stmt, 2, to);
    for (;;) {
        bool more = false;
        wd_tombstone one = {0};
        WD_TRY(wd_sql_next(stmt, &more, err));
        if (!more)
            break;
        WD_TRY(read_one(stmt, &one, err));
        if (one.last >= low && one.first <= high)
            WD_TRY(wd_tombstones_add(&all, &one, err));
    }
    *ret = all;
    all = (wd_tombstones){0};
    return WD_OK;
}

wd_status wd_tombstones_between(wd_reader *reader, uint64_t low, uint64_t high,
                                wd_tombstones *ret, wd_error *err)
{
    return wd_tombstones_read(reader->db, low, high, ret, err);
}

/* --- written ---------------------------------------------------------------------- */

static wd_status put_meta(wd_store *store, const char *name, const char *value,
                          wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    wd_error cause;
    wd_status status = wd_sql_prepare(
        store->db, "INSERT OR REPLACE INTO meta VALUES (?1, ?2)", &stmt, &cause);
    if (status == WD_OK) {
        wd_sql_bind_text(stmt, 1, name);
        wd_sql_bind_text(stmt, 2, value);
        status = wd_sql_run(stmt, &cause);
    }
    return status == WD_OK ? WD_OK
                           : wd_refuse(err, WD_REASON_AUDIT_UNWRITABLE,
                                       "a tombstone: %s", cause.msg);
}

/* Segments go in the order of their rows, each once. */
static wd_status check_turn(wd_store *store, const wd_tombstone *t, wd_error *err)
{
    char text[24];
    WD_TRY(wd_meta_read(store->db, WD_META_PRUNED, text, sizeof(text), err));
    uint64_t pruned = strtoull(text, NULL, 10);
    if (pruned + 1 == t->first)
        return WD_OK;
    return wd_refuse(err, WD_REASON_CONFLICT,
                     "rows %llu to %llu can't be pruned next: rows up to %llu are",
                     (unsigned long long)t->first, (unsigned long long)t->last,
                     (unsigned long long)pruned);
}

wd_status wd_tombstone_write(wd_store *store, const wd_audit_row *who,
                             wd_tombstone *tombstone, wd_error *err)
{
    char number[24];
    char name[40];
    wd_audit_row row = *who;
    WD_AUTO(wd_text) *value = NULL;
    WD_TRY(check_turn(store, tombstone, err));
    row.event = WD_TOMBSTONE_EVENT;
    row.outcome = "ok";
    WD_TRY(wd_audit_append(store, &row, err));
    tombstone->seq = store->pending.seq;
    if (asprintf(&value, "%llu %s", (unsigned long long)tombstone->seq, row.detail) < 0)
        return wd_refuse(err, WD_REASON_AUDIT_UNWRITABLE, "no memory for a tombstone");
    (void)snprintf(name, sizeof(name), META_NAME, (unsigned long long)tombstone->first);
    (void)snprintf(number, sizeof(number), "%llu", (unsigned long long)tombstone->last);
    WD_TRY(put_meta(store, name, value, err));
    WD_TRY(put_meta(store, WD_META_PRUNED, number, err));
    return put_meta(store, WD_META_PRUNED_HASH, tombstone->last_hash, err);
}
