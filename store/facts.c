#include "store/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/c/sha256.h"
#include "proto/c/siphash.h"

#define FIRST_SLOTS   1024U
#define RARE_AT_LEAST 16U /* so many rows are few in any segment */

/* Columns whose values are counted, by their place in WD_AUDIT_COLUMNS. */
static const struct {
    int at;
    const char *name;
} columns[] = {
    {3, "event"},       {4, "outcome"},     {5, "code"},      {6, "reason"},
    {7, "principal"},   {8, "token_id"},    {9, "peer_cert"}, {11, "method"},
    {15, "episode_id"}, {14, "session_id"}, {17, "trace_id"}, {13, "trajectory_id"},
    {23, "tool"},       {25, "owner"},      {26, "family"},   {27, "pool"},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

typedef struct fact {
    uint64_t hash; /* 0: the slot is free */
    char *value;   /* owned */
    size_t size;
    size_t column;
    int64_t n;
    uint32_t id;
    bool posted;
} fact;

typedef struct posting {
    uint32_t fact;
    uint32_t row; /* counted from the segment's first */
} posting;

struct wd_facts {
    uint8_t key[WD_SIPHASH_KEY_BYTES];
    uint64_t first;
    int64_t rows;
    fact *slots;
    size_t n_slots; /* a power of two */
    size_t n_facts;
    size_t n_values[COLUMNS];
    int64_t *block_ms; /* two for each block: least and greatest */
    size_t n_blocks;
    posting *postings;
    size_t n_postings, postings_room;
};

wd_facts *wd_facts_new(uint64_t first)
{
    wd_facts *facts = calloc(1, sizeof(*facts));
    if (facts == NULL)
        return NULL;
    facts->first = first;
    facts->n_slots = FIRST_SLOTS;
    facts->slots = calloc(FIRST_SLOTS, sizeof(fact));
    wd_random(facts->key, sizeof(facts->key));
    if (facts->slots == NULL) {
        free(facts);
        return NULL;
    }
    return facts;
}

void wd_facts_free(wd_facts *facts)
{
    if (facts == NULL)
        return;
    for (size_t i = 0; i < facts->n_slots; i++)
        free(facts->slots[i].value);
    free(facts->slots);
    free(facts->block_ms);
    free(facts->postings);
    free(facts);
}

/* --- the table of values ---------------------------------------------------------- */

static bool is_wide(const wd_facts *facts, size_t column)
{
    return facts->n_values[column] > WD_FACTS_VALUES;
}

static uint64_t hash_of(const wd_facts *facts, size_t column, wd_span value)
{
    uint64_t hash = wd_siphash(facts->key, value) + column * 0x9E3779B97F4A7C15ULL;
    return hash != 0 ? hash : 1;
}

/* The value's slot, or the free one where it belongs. */
static fact *slot_of(const wd_facts *facts, uint64_t hash, size_t column, wd_span value)
{
    for (size_t at = hash & (facts->n_slots - 1);;
         at = (at + 1) & (facts->n_slots - 1)) {
        fact *slot = &facts->slots[at];
        if (slot->hash == 0 ||
            (slot->hash == hash && slot->column == column && slot->size == value.size &&
             memcmp(slot->value, value.data, value.size) == 0))
            return slot;
    }
}

static bool grow(wd_facts *facts)
{
    wd_facts wider = *facts;
    wider.n_slots = facts->n_slots * 2;
    wider.slots = calloc(wider.n_slots, sizeof(fact));
    if (wider.slots == NULL)
        return false;
    for (size_t i = 0; i < facts->n_slots; i++) {
        const fact *old = &facts->slots[i];
        const wd_span value = {(const uint8_t *)old->value, old->size};
        if (old->hash != 0)
            *slot_of(&wider, old->hash, old->column, value) = *old;
    }
    free(facts->slots);
    facts->slots = wider.slots;
    facts->n_slots = wider.n_slots;
    return true;
}

/* A value that was not there; one too many makes its column wide. */
static bool add_value(wd_facts *facts, fact *slot, uint64_t hash, const fact *made)
{
    if (++facts->n_values[made->column] > WD_FACTS_VALUES)
        return true;
    *slot = *made;
    slot->hash = hash;
    slot->id = (uint32_t)++facts->n_facts;
    slot->value = malloc(made->size + 1);
    if (slot->value == NULL) {
        slot->hash = 0;
        return false;
    }
    memcpy(slot->value, made->value, made->size + 1);
    return facts->n_facts * 2 < facts->n_slots || grow(facts);
}

static wd_span value_of(sqlite3_stmt *stmt, size_t column)
{
    if (sqlite3_column_type(stmt, columns[column].at) == SQLITE_NULL)
        return (wd_span){NULL, 0};
    const uint8_t *text = sqlite3_column_text(stmt, columns[column].at);
    return (wd_span){text, (size_t)sqlite3_column_bytes(stmt, columns[column].at)};
}

static bool count_value(wd_facts *facts, size_t column, wd_span value)
{
    if (value.data == NULL || is_wide(facts, column))
        return true;
    uint64_t hash = hash_of(facts, column, value);
    fact *slot = slot_of(facts, hash, column, value);
    if (slot->hash != 0) {
        slot->n++;
        return true;
    }
    const fact made = {.value = (char *)(uintptr_t)value.data,
                       .size = value.size,
                       .column = column,
                       .n = 1};
    return add_value(facts, slot, hash, &made);
}

/* --- times ------------------------------------------------------------------------ */

static bool count_time(wd_facts *facts, int64_t wall_ms)
{
    size_t block = (size_t)facts->rows / WD_FACTS_BLOCK;
    if (block == facts->n_blocks) {
        int64_t *more = reallocarray(facts->block_ms, block + 1, 2 * sizeof(int64_t));
        if (more == NULL)
            return false;
        facts->block_ms = more;
        facts->block_ms[2 * block] = facts->block_ms[2 * block + 1] = wall_ms;
        facts->n_blocks++;
    }
    if (wall_ms < facts->block_ms[2 * block])
        facts->block_ms[2 * block] = wall_ms;
    if (wall_ms > facts->block_ms[2 * block + 1])
        facts->block_ms[2 * block + 1] = wall_ms;
    return true;
}

bool wd_facts_count(wd_facts *facts, sqlite3_stmt *stmt)
{
    for (size_t i = 0; i < COLUMNS; i++) {
        if (!count_value(facts, i, value_of(stmt, i)))
            return false;
    }
    bool counted = count_time(facts, sqlite3_column_int64(stmt, 1));
    facts->rows++;
    return counted;
}

/* --- writing ---------------------------------------------------------------------- */

static wd_status write_fact(const fact *one, sqlite3_stmt *stmt, wd_error *err)
{
    wd_sql_bind_text(stmt, 1, columns[one->column].name);
    (void)sqlite3_bind_text(stmt, 2, one->value, (int)one->size, SQLITE_STATIC);
    (void)sqlite3_bind_int64(stmt, 3, one->n);
    (void)sqlite3_bind_int64(stmt, 4, one->id);
    (void)sqlite3_bind_int(stmt, 5, one->posted);
    return wd_sql_run(stmt, err);
}

static wd_status write_values(wd_facts *facts, sqlite3 *db, wd_error *err)
{
    int64_t few = facts->rows / WD_FACTS_RARE;
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(wd_sql_prepare(db, "INSERT INTO facts VALUES (?, ?, ?, ?, ?)", &stmt, err));
    for (size_t i = 0; i < facts->n_slots; i++) {
        fact *one = &facts->slots[i];
        if (one->hash == 0 || is_wide(facts, one->column))
            continue;
        one->posted = one->n <= (few > RARE_AT_LEAST ? few : RARE_AT_LEAST);
        WD_TRY(write_fact(one, stmt, err));
    }
    return WD_OK;
}

static wd_status write_wide(const wd_facts *facts, sqlite3 *db, wd_error *err)
{
    char sql[160];
    for (size_t i = 0; i < COLUMNS; i++) {
        if (!is_wide(facts, i))
            continue;
        (void)snprintf(sql, sizeof(sql),
                       "CREATE INDEX wide_%s ON audit (%s) WHERE %s IS NOT NULL;"
                       "INSERT INTO wide VALUES ('%s')",
                       columns[i].name, columns[i].name, columns[i].name,
                       columns[i].name);
        WD_TRY(wd_sql_exec(db, sql, err));
    }
    return WD_OK;
}

static wd_status write_blocks(const wd_facts *facts, sqlite3 *db, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(wd_sql_prepare(db, "INSERT INTO blocks VALUES (?, ?, ?)", &stmt, err));
    for (size_t i = 0; i < facts->n_blocks; i++) {
        uint64_t first = facts->first + i * WD_FACTS_BLOCK;
        (void)sqlite3_bind_int64(stmt, 1, (int64_t)first);
        (void)sqlite3_bind_int64(stmt, 2, facts->block_ms[2 * i]);
        (void)sqlite3_bind_int64(stmt, 3, facts->block_ms[2 * i + 1]);
        WD_TRY(wd_sql_run(stmt, err));
    }
    return WD_OK;
}

wd_status wd_facts_write(wd_facts *facts, sqlite3 *db, wd_error *err)
{
    WD_TRY(write_values(facts, db, err));
    WD_TRY(write_wide(facts, db, err));
    return write_blocks(facts, db, err);
}

/* --- postings --------------------------------------------------------------------- */

static bool add_posting(wd_facts *facts, uint32_t id, uint64_t seq)
{
    if (facts->n_postings == facts->postings_room) {
        size_t room = facts->postings_room == 0 ? 1024 : facts->postings_room * 2;
        posting *more = reallocarray(facts->postings, room, sizeof(posting));
        if (more == NULL)
            return false;
        facts->postings = more;
        facts->postings_room = room;
    }
    facts->postings[facts->n_postings++] =
        (posting){.fact = id, .row = (uint32_t)(seq - facts->first)};
    return true;
}

bool wd_facts_post(wd_facts *facts, sqlite3_stmt *stmt)
{
    uint64_t seq = (uint64_t)sqlite3_column_int64(stmt, 0);
    for (size_t i = 0; i < COLUMNS; i++) {
        wd_span value = value_of(stmt, i);
        if (value.data == NULL || is_wide(facts, i))
            continue;
        const fact *slot = slot_of(facts, hash_of(facts, i, value), i, value);
        if (slot->posted && !add_posting(facts, slot->id, seq))
            return false;
    }
    return true;
}

static int by_fact(const void *a, const void *b)
{
    const posting *left = a;
    const posting *right = b;
    if (left->fact != right->fact)
        return left->fact < right->fact ? -1 : 1;
    return (left->row > right->row) - (left->row < right->row);
}

wd_status wd_facts_write_postings(wd_facts *facts, sqlite3 *db, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(wd_sql_prepare(db, "INSERT INTO postings VALUES (?, ?)", &stmt, err));
    if (facts->n_postings > 0)
        qsort(facts->postings, facts->n_postings, sizeof(posting), by_fact);
    for (size_t i = 0; i < facts->n_postings; i++) {
        uint64_t seq = facts->first + facts->postings[i].row;
        (void)sqlite3_bind_int64(stmt, 1, facts->postings[i].fact);
        (void)sqlite3_bind_int64(stmt, 2, (int64_t)seq);
        WD_TRY(wd_sql_run(stmt, err));
    }
    return WD_OK;
}
