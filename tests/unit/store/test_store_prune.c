/* Retention: what is old or too much is exported, then goes; what is left verifies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/store/prune_fixture.h"

static bool has(wd_fixture *f, const char *name)
{
    return access(wd_fixture_path(f, name), F_OK) == 0;
}

/* --- what goes --------------------------------------------------------------------- */

static void claim_07_old_segments_are_exported_and_pruned(void **state)
{
    wd_fixture *f = *state;
    wd_seen s;
    wd_prune_fill(f);
    wd_prune_pass(f);
    assert_false(has(f, "audit/1-10.db") || has(f, "audit/11-20.db"));
    assert_true(has(f, "audit/1-10.kept") && has(f, "audit/11-20.kept"));
    assert_true(has(f, "audit/21-30.db")); /* the newest sealed one stays */
    wd_prune_sound(f, 2);
    wd_prune_all_rows(f, "pruned");
    wd_prune_shell(f, "exports",
                   "cat *-1-10.jsonl *-11-20.jsonl | wc -l | grep -qx 20");
    wd_prune_shell(f, "exports", "sha256sum --quiet -c *.sha256");
    wd_prune_shell(f, "exports", "test $(ls -A | wc -l) = 4");
    assert_int_equal(wd_segments_query(f, &(wd_audit_filter){.limit = 60}, &s), 0);
    assert_int_equal(s.n, 14); /* the token's, 21..31, and two tombstones */
    assert_int_equal(s.seqs[0], 1);
    assert_int_equal(s.seqs[1], 21);
    wd_fixture_close(f);
    wd_fixture_open(f); /* tokens are still what the trail says */
    wd_prune_sound(f, 2);
    wd_prune_pass(f); /* nothing more is due */
    wd_prune_sound(f, 2);
}

static void claim_07_segments_beyond_the_size_go_oldest_first(void **state)
{
    wd_fixture *f = *state;
    char command[128];
    wd_prune_fill(f);
    wd_prune_shell(f, "store/audit",
                   "stat -c %s *.db | awk '{s+=$1} END {print s}'"
                   " >../../sum");
    (void)snprintf(command, sizeof(command), "%s/sum", f->top);
    FILE *file = fopen(command, "r");
    unsigned long long sum = 0;
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%llu", &sum), 1);
    (void)fclose(file);
    WD_AUTO(wd_pruner) *enough = wd_prune_open(f, sum);
    assert_int_equal(wd_pruner_pass(enough, NULL), WD_OK);
    assert_true(has(f, "audit/1-10.db"));
    WD_AUTO(wd_pruner) *one = wd_prune_open(f, sum - 1);
    assert_int_equal(wd_pruner_pass(one, NULL), WD_OK);
    assert_false(has(f, "audit/1-10.db"));
    assert_true(has(f, "audit/11-20.db"));
    WD_AUTO(wd_pruner) *most = wd_prune_open(f, 1);
    assert_int_equal(wd_pruner_pass(most, NULL), WD_OK);
    assert_false(has(f, "audit/11-20.db"));
    assert_true(has(f, "audit/21-30.db"));
    wd_prune_sound(f, 2);
}

static void rows_that_a_start_reads_call_ids_from_stay(void **state)
{
    wd_fixture *f = *state;
    static const struct {
        int64_t older_ms;
        bool gone;
    } cases[] = {{WD_PRUNE_YOUNGEST_MS - 1, false}, {WD_PRUNE_YOUNGEST_MS, true}};
    wd_prune_fill(f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        atomic_store(&f->clock.now_ms, WD_FIXTURE_NOW_MS + cases[i].older_ms);
        WD_AUTO(wd_pruner) *pruner = wd_prune_open(f, 1);
        assert_int_equal(wd_pruner_pass(pruner, NULL), WD_OK);
        assert_int_equal(has(f, "audit/1-10.db"), !cases[i].gone);
    }
}

static void claim_08_rows_that_do_not_verify_are_not_pruned(void **state)
{
    wd_fixture *f = *state;
    char problem[512];
    wd_error err = {0};
    wd_prune_fill(f);
    wd_segments_change(f, "11-20.db", "UPDATE audit SET call_id = 'x' WHERE seq = 15");
    WD_AUTO(wd_pruner) *pruner = wd_prune_open(f, 0);
    assert_int_equal(wd_pruner_pass(pruner, &err), WD_DATA_LOSS);
    assert_non_null(strstr(err.msg, "audit row 15 was changed"));
    wd_pruner_problem(pruner, problem, sizeof(problem));
    assert_string_equal(problem, err.msg);
    assert_true(has(f, "audit/11-20.db") && !has(f, "audit/1-10.db"));
    wd_segments_change(f, "11-20.db", "UPDATE audit SET call_id = 'c4' WHERE seq = 15");
    assert_int_equal(wd_pruner_pass(pruner, &err), WD_OK);
    wd_pruner_problem(pruner, problem, sizeof(problem));
    assert_string_equal(problem, "");
    wd_prune_sound(f, 2);
}

/* --- where it can't be written ------------------------------------------------------- */

static void claim_07_without_an_export_nothing_is_removed(void **state)
{
    wd_fixture *f = *state;
    static const struct {
        const char *name, *before, *after, *words;
    } cases[] = {
        {"no folder above", "mv exports x", "mv x exports", "could not make"},
        {"a file", "mv exports x; >exports", "rm exports; mv x exports",
         "could not open the folder"},
        {"others may write", "chmod 0777 exports", "chmod 0700 exports", "chmod go-w"},
        {"another file has the name", "echo x >exports/$ID-1-10.jsonl",
         "rm exports/*.jsonl", "says something else"},
        {"a folder has the name", "mkdir exports/$ID-1-10.jsonl",
         "rmdir exports/*.jsonl", "could not be read"},
    };
    wd_prune_fill(f);
    wd_prune_shell(f, ".", "mkdir -m 0700 exports");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char command[256];
        char exports[128];
        wd_error err = {0};
        (void)snprintf(command, sizeof(command), "ID=%s; %s",
                       wd_store_chain_id(f->store), cases[i].before);
        wd_prune_shell(f, ".", command);
        (void)snprintf(exports, sizeof(exports), i == 0 ? "%s/exports" : "%s",
                       wd_prune_exports(f));
        const wd_pruner_options options = {
            .store = f->store, .exports = exports, .age_ms = WD_PRUNE_DAY_MS};
        WD_AUTO(wd_pruner) *pruner = NULL;
        assert_int_equal(wd_pruner_open(&options, &pruner, NULL), WD_OK);
        assert_int_not_equal(wd_pruner_pass(pruner, &err), WD_OK);
        if (strstr(err.msg, cases[i].words) == NULL)
            fail_msg("%s: %s", cases[i].name, err.msg);
        assert_true(has(f, "audit/1-10.db"));
        assert_int_equal(wd_audit_head(f->store).seq, 31);
        wd_prune_shell(f, ".", cases[i].after);
    }
    wd_prune_pass(f);
    wd_prune_sound(f, 2);
}

static void an_export_that_a_crash_left_is_taken_when_it_is_the_same(void **state)
{
    wd_fixture *f = *state;
    wd_prune_fill(f);
    wd_prune_shell(f, ".", "cp -r store copy");
    wd_prune_pass(f);
    wd_fixture_close(f);
    wd_prune_shell(f, ".",
                   "rm -r store; mv copy store; echo half >"
                   "\"exports/.$(ls exports | head -1).part\"");
    wd_fixture_open(f); /* as it was before; the exports are there */
    wd_prune_sound(f, 0);
    wd_prune_pass(f);
    wd_prune_sound(f, 2);
    wd_prune_shell(f, "exports", "test $(ls -A | wc -l) = 4");
}

/* --- as asked ------------------------------------------------------------------------ */

static wd_status count(void *arg, const wd_tombstone *t, uint64_t freed, wd_error *err)
{
    (void)err;
    assert_true(freed > 0);
    ((uint64_t *)arg)[0]++;
    ((uint64_t *)arg)[1] = t->last;
    return WD_OK;
}

static void claim_07_pruning_as_asked_refuses_what_is_not_sealed(void **state)
{
    wd_fixture *f = *state;
    const int64_t now = WD_FIXTURE_NOW_MS + 2 * WD_PRUNE_DAY_MS;
    char why[WD_TOMBSTONE_WHY_BYTES + 2];
    memset(why, 'w', sizeof(why));
    why[sizeof(why) - 1] = '\0';
    const struct {
        const char *name;
        wd_prune_ask ask;
        const char *words; /* NULL: it is done */
        uint64_t n, last;
    } cases[] = {
        {"no bound", {.why = "x"}, "how far", 0, 0},
        {"newest sealed", {.to_seq = 30}, "rows up to 20", 0, 0},
        {"one too many", {.to_seq = 21}, "rows up to 20", 0, 0},
        {"not sealed", {.to_seq = 31}, "rows up to 20", 0, 0},
        {"too young", {.before_ms = now - WD_PRUNE_YOUNGEST_MS + 1}, "last hour", 0, 0},
        {"long", {.to_seq = 10, .why = why}, "at most 256", 0, 0},
        {"in between", {.to_seq = 9}, NULL, 0, 0},
        {"tried", {.to_seq = 10, .dry_run = true}, NULL, 1, 10},
        {"all, tried", {.to_seq = 20, .dry_run = true}, NULL, 2, 20},
        {"both bounds", {.to_seq = 20, .before_ms = 1}, NULL, 0, 0},
        {"one", {.to_seq = 19, .why = why + 1}, NULL, 1, 10},
        {"by age", {.before_ms = now - WD_PRUNE_YOUNGEST_MS}, NULL, 1, 20},
        {"again", {.to_seq = 20}, NULL, 0, 0},
    };
    wd_prune_fill(f);
    WD_AUTO(wd_pruner) *pruner = wd_prune_open(f, 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t got[2] = {0, 0};
        const wd_prune_sink sink = {count, got};
        wd_error err = {0};
        wd_status status = wd_pruner_run(pruner, &cases[i].ask, &sink, &err);
        if (got[0] != cases[i].n || got[1] != cases[i].last ||
            (status != WD_OK) != (cases[i].words != NULL) ||
            (status != WD_OK && strstr(err.msg, cases[i].words) == NULL))
            fail_msg("%s: %d, %llu to %llu: %s", cases[i].name, (int)status,
                     (unsigned long long)got[0], (unsigned long long)got[1], err.msg);
        if (status != WD_OK)
            assert_int_equal(err.reason, WD_REASON_FIELD_INVALID);
    }
    wd_prune_sound(f, 2);
}

int main(void)
{
#define TEST(name)                                                                     \
    cmocka_unit_test_setup_teardown(name, wd_fixture_set_up, wd_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(claim_07_old_segments_are_exported_and_pruned),
        TEST(claim_07_segments_beyond_the_size_go_oldest_first),
        TEST(rows_that_a_start_reads_call_ids_from_stay),
        TEST(claim_08_rows_that_do_not_verify_are_not_pruned),
        TEST(claim_07_without_an_export_nothing_is_removed),
        TEST(an_export_that_a_crash_left_is_taken_when_it_is_the_same),
        TEST(claim_07_pruning_as_asked_refuses_what_is_not_sealed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
