/* A byte flipped anywhere in a file of the store: verify finds it, or it held nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/c/sha256.h"
#include "tests/unit/store/page_image.h"
#include "tests/unit/store/segments_fixture.h"

#define ROWS         300
#define HEADER_BYTES 100U

typedef enum kind {
    TABLE_LEAF = 0x0d,
    TABLE_INTERIOR = 0x05,
    INDEX_LEAF = 0x0a,
    INDEX_INTERIOR = 0x02,
} kind;

/* What can't even be opened is found too. */
static wd_status verify(wd_fixture *f, wd_audit_report *report, wd_error *err)
{
    WD_AUTO(wd_reader) *reader = NULL;
    const wd_audit_range all = {0};
    *report = (wd_audit_report){0};
    wd_status status = wd_reader_open(f->dir, NULL, &reader, err);
    return status != WD_OK ? status : wd_audit_verify(reader, &all, report, err);
}

/* Every byte of a page's own structure is flipped, one at a time, and found each time. */
static void assert_found(const wd_image *i, size_t at, const char *what)
{
    wd_audit_report report;
    wd_error err = {0};
    wd_image_put(i, at, i->bytes[at] ^ 1U);
    wd_status status = verify(i->f, &report, &err);
    wd_image_put(i, at, i->bytes[at]);
    if (status != WD_DATA_LOSS)
        fail_msg("%s, byte %zu of %s: %d %s", what, at, i->path, (int)status, err.msg);
}

/* Count of cells, where the first cell is, and that cell: length or child, key. */
static void assert_page_is_checked(const wd_image *i, size_t page, const char *what)
{
    bool leaf = i->bytes[page] == TABLE_LEAF || i->bytes[page] == INDEX_LEAF;
    size_t pointer = page + (leaf ? 8 : 12);
    size_t cell = page + wd_image_number(i, pointer, 2);
    assert_found(i, page, what);
    assert_found(i, page + 4, what);
    assert_found(i, pointer + 1, what);
    assert_found(i, cell, what);
    assert_found(i, cell + (leaf ? 2 : 5), what);
}

static size_t check_pages(const wd_image *i, kind wanted, const char *what)
{
    size_t n = 0;
    for (size_t page = WD_PAGE_BYTES; page < i->size; page += WD_PAGE_BYTES) {
        if (i->bytes[page] != wanted || i->free[page / WD_PAGE_BYTES + 1] ||
            wd_image_number(i, page + 3, 2) == 0)
            continue;
        assert_page_is_checked(i, page, what);
        n++;
    }
    return n;
}

/* Rows of the shape that real ones have. */
static void fill(wd_fixture *f, int rows)
{
    for (int i = 0; i < rows; i++) {
        char call[48];
        char trajectory[24];
        (void)snprintf(call, sizeof(call), "0199aabb-ccdd-7eee-8fff-%012d", i / 2);
        (void)snprintf(trajectory, sizeof(trajectory), "trajectory-%d", i % 40);
        const wd_audit_row row = {.event = i % 2 == 0 ? "call.begin" : "call.end",
                                  .call_id = call,
                                  .trajectory_id = trajectory,
                                  .principal = "spiffe://x/trainer"};
        wd_fixture_append(f, &row);
    }
}

/* The same store, with pages that are free. */
static void open_segment(wd_fixture *f, wd_image *i)
{
    fill(f, ROWS);
    wd_fixture_close(f);
    wd_fixture_sql(f,
                   "PRAGMA secure_delete = 0; CREATE TABLE gone AS SELECT * FROM "
                   "audit LIMIT 100; DROP TABLE gone; PRAGMA wal_checkpoint(TRUNCATE)");
    wd_image_open(i, f, "store.db");
}

static void sealed_segment(wd_fixture *f, wd_image *i)
{
    char name[64];
    fill(f, ROWS);
    wd_segments_seal(f);
    wd_fixture_close(f);
    (void)snprintf(name, sizeof(name), "audit/1-%d.db", ROWS - 1);
    wd_image_open(i, f, name);
}

static const struct {
    kind kind;
    const char *name;
} kinds[] = {
    {TABLE_LEAF, "table leaf"},
    {TABLE_INTERIOR, "table interior"},
    {INDEX_LEAF, "index leaf"},
    {INDEX_INTERIOR, "index interior"},
};

static void check_kinds(const wd_image *i)
{
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        assert_true(check_pages(i, kinds[k].kind, kinds[k].name) > 0);
}

static void claim_08_flipped_byte_in_a_page_of_each_kind_is_found(void **state)
{
    static wd_image i;
    open_segment(*state, &i);
    check_kinds(&i);
    wd_image_close(&i);
}

static void claim_08_flipped_byte_in_a_page_of_a_sealed_segment_is_found(void **state)
{
    static wd_image i;
    sealed_segment(*state, &i);
    check_kinds(&i);
    wd_image_close(&i);
}

static void claim_08_flipped_byte_in_the_list_of_free_pages_is_found(void **state)
{
    static wd_image i;
    open_segment(*state, &i);
    assert_int_not_equal(wd_image_number(&i, WD_TRUNK_AT, 4), 0);
    size_t trunk = (wd_image_number(&i, WD_TRUNK_AT, 4) - 1) * (size_t)WD_PAGE_BYTES;
    assert_true(wd_image_number(&i, trunk + 4, 4) > 1);
    for (size_t at = 0; at < 16; at++) /* the next one, how many leaves, two of them */
        assert_found(&i, trunk + at, "free list");
    wd_image_close(&i);
}

static void claim_08_flipped_byte_in_the_header_is_found(void **state)
{
    static wd_image i;
    open_segment(*state, &i);
    for (size_t at = 0; at < 16; at++)
        assert_found(&i, at, "magic");
    for (size_t at = WD_TRUNK_AT; at < WD_TRUNK_AT + 8; at++)
        assert_found(&i, at, "first free page, count of them");
    for (size_t at = HEADER_BYTES; at < HEADER_BYTES + 8; at++)
        if (at != HEADER_BYTES + 5 && at != HEADER_BYTES + 6)
            assert_found(&i, at, "root of the schema");
    wd_image_close(&i);
}

/* --- anywhere --------------------------------------------------------------------- */

#define BY_CALL                                                                        \
    ("SELECT seq FROM audit INDEXED BY audit_call WHERE call_id IS NOT NULL"           \
     " ORDER BY call_id, seq")
#define SCHEMA /* but for the planner's guesses */                                     \
    ("SELECT type, name, CAST(tbl_name AS TEXT), sql FROM sqlite_schema"               \
     " WHERE name NOT GLOB 'sqlite_stat*' ORDER BY name")

/* Everything that the two files say, by each of their indexes. */
static const char *const told[] = {
    "SELECT * FROM audit ORDER BY seq",
    BY_CALL,
    "SELECT * FROM tokens ORDER BY rowid",
    "SELECT id FROM tokens ORDER BY id",
    "SELECT * FROM checkpoints ORDER BY seq",
    "SELECT * FROM meta ORDER BY name",
    "SELECT * FROM facts ORDER BY what, value",
    "SELECT * FROM postings ORDER BY fact, row",
    "SELECT * FROM wide ORDER BY what",
    "SELECT * FROM blocks ORDER BY first",
    "SELECT * FROM kept ORDER BY seq",
    "SELECT * FROM unended ORDER BY seq",
    SCHEMA,
};

/* Tables that the other kind of file has say nothing. */
static void say(sqlite3 *db, const char *sql, wd_sha256 *hash)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        return;
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(stmt); i++) {
            const int type = sqlite3_column_type(stmt, i);
            const uint8_t *text = sqlite3_column_blob(stmt, i);
            const size_t size = (size_t)sqlite3_column_bytes(stmt, i);
            wd_sha256_add(hash, &type, sizeof(type));
            wd_sha256_add(hash, &size, sizeof(size));
            if (size > 0)
                wd_sha256_add(hash, text, size);
        }
    }
    (void)sqlite3_finalize(stmt);
}

static void say_all(const wd_image *i, uint8_t ret_hash[WD_SHA256_BYTES])
{
    sqlite3 *db = NULL;
    wd_sha256 hash;
    wd_sha256_init(&hash);
    assert_int_equal(sqlite3_open_v2(i->path, &db, SQLITE_OPEN_READONLY, NULL),
                     SQLITE_OK);
    for (size_t k = 0; k < sizeof(told) / sizeof(told[0]); k++)
        say(db, told[k], &hash);
    (void)sqlite3_close(db);
    wd_sha256_end(&hash, ret_hash);
}

/* A flipped bit that verify does not find was in a byte that says nothing. */
static void assert_found_or_nothing(const wd_image *i, size_t at, uint8_t bit,
                                    const uint8_t said[WD_SHA256_BYTES])
{
    wd_audit_report report;
    wd_error err = {0};
    uint8_t says[WD_SHA256_BYTES];
    wd_image_put(i, at, i->bytes[at] ^ bit);
    if (verify(i->f, &report, &err) == WD_OK) {
        say_all(i, says);
        if (memcmp(said, says, sizeof(says)) != 0)
            fail_msg("bit %u of byte %zu of %s", bit, at, i->path);
    }
    wd_image_put(i, at, i->bytes[at]);
}

static void flip_anywhere(const wd_image *i)
{
    uint8_t said[WD_SHA256_BYTES];
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    const size_t step = getenv("WARDED_LONG") != NULL ? 41 : 1009;
    say_all(i, said);
    for (size_t at = 0; at < HEADER_BYTES; at++)
        assert_found_or_nothing(i, at, 1, said);
    for (size_t at = HEADER_BYTES; at < i->size; at += step)
        assert_found_or_nothing(i, at, (uint8_t)(1U << at % 8), said);
}

static void claim_08_byte_flipped_anywhere_is_found_or_said_nothing(void **state)
{
    static wd_image i;
    open_segment(*state, &i);
    flip_anywhere(&i);
    wd_image_close(&i);
}

static void
claim_08_byte_of_a_segment_flipped_anywhere_is_found_or_said_nothing(void **state)
{
    static wd_image i;
    sealed_segment(*state, &i);
    flip_anywhere(&i);
    wd_image_close(&i);
}

/* --- the finding ------------------------------------------------------------------ */

/* A letter of a call's id, where the index has it. */
static size_t indexed_letter(const wd_image *i)
{
    static const char letters[] = "-8fff-000000000007";
    for (size_t page = 0; page < i->size; page += WD_PAGE_BYTES) {
        const uint8_t *start = i->bytes + page;
        const uint8_t *at = memmem(start, WD_PAGE_BYTES, letters, strlen(letters));
        if (at != NULL && *start == INDEX_LEAF)
            return (size_t)(at - i->bytes) + strlen(letters) - 1;
    }
    fail_msg("no such call in the index");
    return 0;
}

/* Every row still has its hash, and a query by this call would not find it. */
static void claim_08_damaged_index_has_a_name_and_the_file_is_named(void **state)
{
    wd_fixture *f = *state;
    static wd_image i;
    wd_audit_report report;
    wd_error err = {0};
    open_segment(f, &i);
    wd_image_put(&i, indexed_letter(&i), '8');
    assert_int_equal(verify(f, &report, &err), WD_DATA_LOSS);
    assert_int_equal(err.reason, WD_REASON_CHAIN_BROKEN);
    assert_int_equal(report.fault, WD_AUDIT_DAMAGED);
    assert_int_equal(report.bad_seq, 0);
    assert_int_equal(report.rows, ROWS);
    assert_non_null(strstr(err.msg, "store.db is damaged: "));
    assert_non_null(strstr(err.msg, "audit_call"));
    wd_image_close(&i);
}

/* A part is read row by row; what damage keeps from being read has the same name. */
static void claim_08_page_that_cannot_be_read_has_the_same_name(void **state)
{
    wd_fixture *f = *state;
    static wd_image i;
    wd_error err = {0};
    wd_audit_report report;
    const wd_audit_range part = {.first = 2, .last = ROWS - 1};
    open_segment(f, &i);
    for (size_t page = WD_PAGE_BYTES; page < i.size; page += WD_PAGE_BYTES)
        if (i.bytes[page] == TABLE_INTERIOR)
            wd_image_put(&i, page, 0);
    WD_AUTO(wd_reader) *reader = wd_fixture_reader(f);
    assert_int_equal(wd_audit_verify(reader, &part, &report, &err), WD_DATA_LOSS);
    assert_int_equal(report.fault, WD_AUDIT_DAMAGED);
    wd_image_close(&i);
}

static void claim_08_row_fault_comes_before_a_damaged_page(void **state)
{
    wd_fixture *f = *state;
    static wd_image i;
    wd_audit_report report;
    wd_error err = {0};
    open_segment(f, &i);
    wd_image_put(&i, indexed_letter(&i), '8');
    wd_image_close(&i);
    wd_fixture_sql(f, "UPDATE audit SET item = 7 WHERE seq = 100");
    assert_int_equal(verify(f, &report, &err), WD_DATA_LOSS);
    assert_int_equal(report.fault, WD_AUDIT_ROW_CHANGED);
    assert_int_equal(report.bad_seq, 100);
}

int main(void)
{
#define TEST(name)                                                                     \
    cmocka_unit_test_setup_teardown(name, wd_fixture_set_up, wd_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(claim_08_flipped_byte_in_a_page_of_each_kind_is_found),
        TEST(claim_08_flipped_byte_in_a_page_of_a_sealed_segment_is_found),
        TEST(claim_08_flipped_byte_in_the_list_of_free_pages_is_found),
        TEST(claim_08_flipped_byte_in_the_header_is_found),
        TEST(claim_08_byte_flipped_anywhere_is_found_or_said_nothing),
        TEST(claim_08_byte_of_a_segment_flipped_anywhere_is_found_or_said_nothing),
        TEST(claim_08_damaged_index_has_a_name_and_the_file_is_named),
        TEST(claim_08_page_that_cannot_be_read_has_the_same_name),
        TEST(claim_08_row_fault_comes_before_a_damaged_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
