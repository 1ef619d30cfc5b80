/* Tombstones: what is done to them, to what is kept, or to the exports is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/tombstone.h"
#include "tests/unit/store/prune_fixture.h"

static void claim_08_a_tombstone_without_its_export_is_found(void **state)
{
    wd_fixture *f = *state;
    static const struct {
        const char *name, *before, *after, *words;
        uint64_t seq;
    } cases[] = {
        {"gone", "mv *-1-10.jsonl ../x", "mv ../x $ID-1-10.jsonl", "it is not in", 1},
        {"second gone", "mv *-11-20.jsonl ../x", "mv ../x $ID-11-20.jsonl",
         "it is not in", 11},
        {"a byte", "cp -p *-1-10.jsonl ../x; chmod u+w *; sed -i s/c3/c4/ *-1-10.jsonl",
         "mv -f ../x $ID-1-10.jsonl", "is another file", 1},
        {"longer", "cp -p *-1-10.jsonl ../x; chmod u+w *; echo >>$ID-1-10.jsonl",
         "mv -f ../x $ID-1-10.jsonl", "is another file", 1},
        {"emptied", "cp -p *-1-10.jsonl ../x; chmod u+w *; : >$ID-1-10.jsonl",
         "mv -f ../x $ID-1-10.jsonl", "is another file: 0 bytes", 1},
        {"the other's", "cp -p *-1-10.jsonl ../x; cp -f *-11-20.jsonl $ID-1-10.jsonl",
         "mv -f ../x $ID-1-10.jsonl", "is another file", 1},
        {"a link", "mv *-1-10.jsonl ../x; ln -s ../x $ID-1-10.jsonl",
         "mv -f ../x $ID-1-10.jsonl", "it is not in", 1},
    };
    wd_prune_fill(f);
    wd_prune_pass(f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char command[256];
        (void)snprintf(command, sizeof(command), "ID=%s; %s",
                       wd_store_chain_id(f->store), cases[i].before);
        wd_prune_shell(f, "exports", command);
        print_message("  %s\n", cases[i].name);
        wd_prune_broken(f, WD_AUDIT_EXPORT_MISSING, cases[i].seq, cases[i].words);
        (void)snprintf(command, sizeof(command), "ID=%s; %s",
                       wd_store_chain_id(f->store), cases[i].after);
        wd_prune_shell(f, "exports", command);
        wd_prune_sound(f, 2);
    }
    wd_prune_shell(f, "exports", "rm -r ../exports");
    wd_prune_broken(f, WD_AUDIT_EXPORT_MISSING, 1, "it is not in");
    wd_segments_verify(f, 13, 1); /* who says that they are elsewhere is believed */
}

static void claim_08_an_export_that_cannot_be_looked_at_is_said_so(void **state)
{
    wd_fixture *f = *state;
    wd_audit_report report;
    wd_error err = {0};
    wd_prune_fill(f);
    wd_prune_pass(f);
    wd_prune_shell(f, "exports", "n=$(ls *-1-10.jsonl); rm $n; mkdir $n");
    assert_int_equal(wd_prune_verify(f, &report, &err), WD_PERMISSION_DENIED);
    assert_int_equal(report.fault, WD_AUDIT_SOUND); /* nothing is known */
    assert_non_null(strstr(err.msg, "the export of rows 1 to 10"));
    assert_non_null(strstr(err.msg, "could not be read"));
}

/* As an intruder would who can write to the store and has no key. */
static void claim_08_what_is_done_to_a_tombstone_is_found(void **state)
{
    static const struct {
        const char *name, *sql;
        wd_audit_fault fault;
        uint64_t seq;
    } cases[] = {
        {"the list is emptied", "DELETE FROM meta WHERE name GLOB 'pruned:*'",
         WD_AUDIT_SEGMENT_MISSING, 1},
        {"one is taken out", "DELETE FROM meta WHERE name GLOB 'pruned:*01'",
         WD_AUDIT_SEGMENT_MISSING, 1},
        {"the last is", "DELETE FROM meta WHERE name GLOB 'pruned:*11'",
         WD_AUDIT_SEGMENT_MISSING, 11},
        {"another export",
         "UPDATE meta SET value = replace(value, '-1-10.jsonl', '-1-11.jsonl')"
         " WHERE name GLOB 'pruned:*01'",
         WD_AUDIT_SEGMENT_MISSING, 1},
        {"another row",
         "UPDATE meta SET value = '31' || substr(value, 3)"
         " WHERE name GLOB 'pruned:*01'",
         WD_AUDIT_SEGMENT_MISSING, 1},
        {"no text", "UPDATE meta SET value = '32 {}' WHERE name GLOB 'pruned:*01'",
         WD_AUDIT_SEGMENT_MISSING, 0},
        {"the row itself",
         "UPDATE audit SET detail = replace(detail, '-1-10.', '-1-11.')"
         " WHERE seq = 32",
         WD_AUDIT_ROW_CHANGED, 32},
        {"the hash",
         "UPDATE meta SET value = replace(value, substr(value, 1, 1), 'x')"
         " WHERE name = 'pruned_hash'",
         WD_AUDIT_DAMAGED, 0},
        {"the hash, another",
         "UPDATE meta SET value = printf('%064d', 7) WHERE name = 'pruned_hash'",
         WD_AUDIT_ROW_UNLINKED, 21},
        {"further than it is", "UPDATE meta SET value = '30' WHERE name = 'pruned_seq'",
         WD_AUDIT_ROW_UNLINKED, 31},
        {"less far", "UPDATE meta SET value = '10' WHERE name = 'pruned_seq'",
         WD_AUDIT_SEGMENT_MISSING, 11},
        {"not at all", "DELETE FROM meta WHERE name GLOB 'pruned*'",
         WD_AUDIT_SEGMENT_MISSING, 1},
    };
    wd_fixture *f = *state;
    wd_prune_fill(f);
    wd_prune_pass(f);
    wd_fixture_close(f);
    wd_prune_shell(f, ".", "cp -r store good");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("  %s\n", cases[i].name);
        wd_fixture_sql(f, cases[i].sql);
        wd_prune_broken(f, cases[i].fault, cases[i].seq, "");
        wd_prune_shell(f, ".", "rm -r store; cp -r good store");
    }
    wd_prune_sound(f, 2);
}

static void claim_08_what_is_done_to_kept_rows_is_found(void **state)
{
    wd_fixture *f = *state;
    wd_prune_fill(f);
    wd_prune_pass(f);
    wd_segments_change(f, "1-10.kept", "UPDATE audit SET token_id = 'x'");
    wd_prune_broken(f, WD_AUDIT_ROW_CHANGED, 1, "");
    wd_prune_shell(f, "store/audit", "mv 1-10.kept ../../x");
    wd_prune_broken(f, WD_AUDIT_TOKENS, 0, "");
    wd_fixture_sql(f, "DELETE FROM tokens");
    wd_prune_broken(f, WD_AUDIT_SEGMENT_MISSING, 1, "what was kept");
    wd_prune_shell(f, "store/audit", "mv ../../x 1-10.kept");
    wd_segments_change(f, "1-10.kept", "DELETE FROM kept; DELETE FROM audit");
    wd_prune_broken(f, WD_AUDIT_ROW_CHANGED, 1, "what was kept");
}

static void claim_08_the_rows_after_a_hole_follow_what_was_pruned(void **state)
{
    wd_fixture *f = *state;
    WD_AUTO(wd_reader) *reader = NULL;
    const wd_audit_range ranges[] = {
        {.first = 21}, {.first = 25, .last = 27}, {.first = 5}};
    wd_prune_fill(f);
    wd_prune_pass(f);
    reader = wd_segments_reader(f);
    for (size_t i = 0; i < 3; i++) {
        wd_audit_report report;
        assert_int_equal(wd_audit_verify(reader, &ranges[i], &report, NULL), WD_OK);
        assert_int_equal(report.n_tombstones, i == 2 ? 2 : 0);
    }
}

/* --- what was seen of rows that are gone ------------------------------------------------- */

static bool keep_head(void *arg, const wd_audit_row *row)
{
    wd_head *head = (wd_head *)arg + (row->seq - 1);
    head->seq = row->seq;
    memcpy(head->hash, row->hash, sizeof(head->hash));
    return true;
}

/* Of rows 1 to 31, before the first 20 are pruned. */
static void keep_heads(wd_fixture *f, wd_head heads[31])
{
    WD_AUTO(wd_reader) *reader = wd_segments_reader(f);
    const wd_audit_filter all = {.limit = 31};
    const wd_audit_sink sink = {keep_head, heads};
    uint64_t next = 0;
    assert_int_equal(wd_audit_query(reader, &all, &sink, &next, NULL), WD_OK);
    assert_int_equal(heads[30].seq, 31);
}

static void claim_08_heads_of_pruned_rows_are_looked_for_in_the_exports(void **state)
{
    wd_fixture *f = *state;
    wd_head heads[31];
    wd_audit_report report;
    wd_prune_fill(f);
    keep_heads(f, heads);
    wd_prune_pass(f);
    WD_AUTO(wd_reader) *reader = wd_segments_reader(f);
    wd_audit_range range = {.witnessed = heads, .n_witnessed = 31};
    assert_int_equal(wd_audit_verify(reader, &range, &report, NULL), WD_OK);
    assert_int_equal(report.n_witnessed, 11);
    assert_int_equal(report.n_unchecked, 20); /* nobody says that they were found */
    range.exports = wd_prune_exports(f);
    assert_int_equal(wd_audit_verify(reader, &range, &report, NULL), WD_OK);
    assert_int_equal(report.n_witnessed, 31);
    assert_int_equal(report.n_unchecked, 0);
    range.first = 9;
    range.last = 12; /* what was not asked for is not missed */
    assert_int_equal(wd_audit_verify(reader, &range, &report, NULL), WD_OK);
    assert_int_equal(report.n_witnessed, 4);
    assert_int_equal(report.n_unchecked, 0);
}

static void claim_08_a_pruned_row_that_a_witness_saw_otherwise_is_a_fork(void **state)
{
    wd_fixture *f = *state;
    static const uint64_t rows[] = {1, 5, 10, 11, 20, 21};
    wd_head heads[31];
    wd_audit_report report;
    wd_prune_fill(f);
    keep_heads(f, heads);
    wd_prune_pass(f);
    WD_AUTO(wd_reader) *reader = wd_segments_reader(f);
    const wd_audit_range range = {
        .witnessed = heads, .n_witnessed = 31, .exports = wd_prune_exports(f)};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t *byte = &heads[rows[i] - 1].hash[i];
        *byte ^= 1;
        assert_int_equal(wd_audit_verify(reader, &range, &report, NULL), WD_DATA_LOSS);
        assert_int_equal(report.fault, WD_AUDIT_FORKED);
        assert_int_equal(report.bad_seq, rows[i]);
        *byte ^= 1;
    }
}

static void a_tombstone_is_read_as_it_was_written(void **state)
{
    const wd_tombstone made = {
        .first = 1,
        .last = 10,
        .bytes = 77,
        .kept = 3,
        .file = "c-1-10.jsonl",
        .sha256 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        .last_hash = "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        .kept_hash = "2123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    };
    static const char *const names[] = {"first",     "last", "export",    "sha256",
                                        "last_hash", "kept", "kept_hash", "bytes"};
    wd_tombstone read;
    WD_AUTO(wd_text) *text = wd_tombstone_detail(&made, "why\n\"");
    (void)state;
    assert_true(wd_tombstone_parse(text, &read));
    assert_memory_equal(&read.first, &made.first, 2 * sizeof(uint64_t));
    assert_string_equal(read.file, made.file);
    assert_string_equal(read.kept_hash, made.kept_hash);
    for (size_t size = 0; size < strlen(text); size++) {
        WD_AUTO(wd_text) *part = strndup(text, size);
        assert_false(wd_tombstone_parse(part, &read));
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        WD_AUTO(wd_text) *other = strdup(text);
        char name[16];
        (void)snprintf(name, sizeof(name), "\"%s\":", names[i]);
        strstr(other, name)[1] = 'X';
        if (wd_tombstone_parse(other, &read))
            fail_msg("without %s", names[i]);
    }
    WD_AUTO(wd_text) *away = strdup(text);
    strstr(away, "c-1-10")[1] = '/';
    assert_false(wd_tombstone_parse(away, &read));
}

int main(void)
{
#define TEST(name)                                                                     \
    cmocka_unit_test_setup_teardown(name, wd_fixture_set_up, wd_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(claim_08_a_tombstone_without_its_export_is_found),
        TEST(claim_08_an_export_that_cannot_be_looked_at_is_said_so),
        TEST(claim_08_what_is_done_to_a_tombstone_is_found),
        TEST(claim_08_what_is_done_to_kept_rows_is_found),
        TEST(claim_08_the_rows_after_a_hole_follow_what_was_pruned),
        TEST(claim_08_heads_of_pruned_rows_are_looked_for_in_the_exports),
        TEST(claim_08_a_pruned_row_that_a_witness_saw_otherwise_is_a_fork),
        cmocka_unit_test(a_tombstone_is_read_as_it_was_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
