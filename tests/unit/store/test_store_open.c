/* Opening a store: what it refuses, by cause, and how an older schema is led on. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/place.h"
#include "store/schema.h"
#include "tests/support/store_fixture.h"

static int set_up(void **state)
{
    static wd_fixture fixture; /* cmocka's state needs an address */
    wd_fixture_init(&fixture);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    wd_fixture_done(*state);
    return 0;
}

static int fake_type(void *arg, const char *dir, uint64_t *ret_magic)
{
    (void)dir;
    *ret_magic = *(const uint64_t *)arg;
    return 0;
}

static void claim_04_start_refuses_network_file_system(void **state)
{
    wd_fixture *f = *state;
    static const struct {
        uint64_t magic;
        const char *name;
    } cases[] = {
        {0x6969, "(nfs)"},        {0x0BD00BD0, "(lustre)"},   {0x47504653, "(gpfs)"},
        {0x517B, "(smb)"},        {0xFF534D42, "(cifs)"},     {0xFE534D42, "(smb2)"},
        {0x00C36400, "(ceph)"},   {0x19830326, "(beegfs)"},   {0xAAD7AAEA, "(panfs)"},
        {0x5346414F, "(afs)"},    {0x6B414653, "(kafs)"},     {0x73757245, "(coda)"},
        {0x564C, "(ncpfs)"},      {0x20030528, "(orangefs)"}, {0x01021997, "(9p)"},
        {0x65735546, "(fuse)"},   {0x7461636F, "(ocfs2)"},    {0x01161970, "(gfs2)"},
        {0x786F4256, "(vboxsf)"}, {0xBACBACBC, "(vmhgfs)"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t magic = cases[i].magic;
        f->options.disk.type = fake_type;
        f->options.disk.arg = &magic;
        wd_fixture_refused(f, WD_FAILED_PRECONDITION, WD_REASON_NONE, cases[i].name);
        wd_fixture_refused(f, WD_FAILED_PRECONDITION, WD_REASON_NONE,
                           "set store.path to a local disk");
    }
    f->options.disk = (wd_store_disk){0};
    wd_fixture_open(f); /* and nothing was left behind that would hinder this */
}

static void local_file_systems_are_taken(void **state)
{
    (void)state;
    static const uint64_t magics[] = {0xEF53,     0x58465342, 0x9123683E, 0x01021994,
                                      0x794C7630, 0x2FC12FC1, 0xF2F52010, 0xCA451A4E};
    for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
        assert_null(wd_place_network_fs(magics[i]));
}

static void folder_that_others_can_enter_is_refused(void **state)
{
    wd_fixture *f = *state;
    assert_int_equal(mkdir(f->dir, 0700), 0);
    static const mode_t modes[] = {0750, 0705, 0777, 0710};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(chmod(f->dir, modes[i]), 0);
        wd_fixture_refused(f, WD_FAILED_PRECONDITION, WD_REASON_NONE, "chmod 0700");
    }
}

static void database_that_others_can_read_is_refused(void **state)
{
    wd_fixture *f = *state;
    wd_fixture_open(f);
    wd_fixture_close(f);
    assert_int_equal(chmod(wd_fixture_path(f, "store.db"), 0644), 0);
    wd_fixture_refused(f, WD_FAILED_PRECONDITION, WD_REASON_NONE, "0600");
}

static void absent_store_is_not_found_unless_it_may_be_made(void **state)
{
    wd_fixture *f = *state;
    wd_reader *reader = NULL;
    f->options.create = false;
    wd_fixture_refused(f, WD_NOT_FOUND, WD_REASON_NONE, "warded init");
    assert_int_equal(wd_reader_open(f->dir, NULL, &reader, NULL), WD_NOT_FOUND);
    assert_int_equal(mkdir(f->dir, 0700), 0);
    wd_fixture_refused(f, WD_NOT_FOUND, WD_REASON_NONE, "store.db");
}

static void second_owner_is_refused_with_the_first_ones_pid(void **state)
{
    wd_fixture *f = *state;
    char pid[32];
    wd_fixture_open(f);
    (void)snprintf(pid, sizeof(pid), "process %d", getpid());
    wd_fixture_refused(f, WD_FAILED_PRECONDITION, WD_REASON_CONFLICT, pid);
    wd_fixture_close(f);
    wd_fixture_open(f); /* the lock goes with its owner */
}

static void claim_09_newer_schema_is_refused(void **state)
{
    wd_fixture *f = *state;
    wd_reader *reader = NULL;
    wd_error err = {0};
    wd_fixture_open(f);
    wd_fixture_close(f);
    wd_fixture_sql(f, "PRAGMA user_version = 99");
    wd_fixture_refused(f, WD_FAILED_PRECONDITION, WD_REASON_NONE, "schema 99");
    assert_int_equal(wd_reader_open(f->dir, NULL, &reader, &err),
                     WD_FAILED_PRECONDITION);
    assert_non_null(strstr(err.msg, "schema 99"));
}

static void database_of_another_program_is_refused(void **state)
{
    wd_fixture *f = *state;
    assert_int_equal(mkdir(f->dir, 0700), 0);
    wd_fixture_sql(f, "CREATE TABLE other (x)");
    assert_int_equal(chmod(wd_fixture_path(f, "store.db"), 0600), 0);
    wd_fixture_refused(f, WD_FAILED_PRECONDITION, WD_REASON_NONE, "not made by Warded");
}

static void file_that_is_no_database_is_refused(void **state)
{
    wd_fixture *f = *state;
    assert_int_equal(mkdir(f->dir, 0700), 0);
    FILE *file = fopen(wd_fixture_path(f, "store.db"), "w");
    for (int i = 0; file != NULL && i < 2000; i++)
        (void)fputs("not a database ", file);
    assert_true(file != NULL && fclose(file) == 0);
    assert_int_equal(chmod(wd_fixture_path(f, "store.db"), 0600), 0);
    wd_fixture_refused(f, WD_DATA_LOSS, WD_REASON_NONE, "SQLite 26");
}

static void damaged_tail_is_refused_at_start(void **state)
{
    wd_fixture *f = *state;
    wd_fixture_open(f);
    wd_fixture_fill(f, 5);
    wd_fixture_close(f);
    wd_fixture_sql(f, "UPDATE audit SET outcome = 'ok' WHERE seq = 4");
    wd_fixture_refused(f, WD_DATA_LOSS, WD_REASON_CHAIN_BROKEN,
                       "audit row 4 was changed");
}

static void reserve_that_does_not_fit_is_refused(void **state)
{
    wd_fixture *f = *state;
    f->options.reserve_bytes = 1ULL << 60;
    wd_fixture_refused(f, WD_RESOURCE_EXHAUSTED, WD_REASON_NONE, "audit.reserve_bytes");
}

static void reserve_is_set_aside_for_real(void **state)
{
    wd_fixture *f = *state;
    struct stat st;
    wd_fixture_open(f);
    assert_int_equal(stat(wd_fixture_path(f, "reserve"), &st), 0);
    assert_int_equal(st.st_size, 1 << 20);
    assert_true(st.st_blocks * 512 >= 1 << 20);
    f->options.reserve_bytes = 0; /* as it is */
    wd_fixture_close(f);
    wd_fixture_open(f);
    assert_int_equal(stat(wd_fixture_path(f, "reserve"), &st), 0);
    assert_int_equal(st.st_size, 1 << 20);
}

/* Root works on a store of the gate's user; run by that user, this is plainly so. */
static void files_belong_to_the_folders_owner(void **state)
{
    wd_fixture *f = *state;
    static const char *const names[] = {"store.db", "store.db-wal", "store.db-shm",
                                        "lock", "reserve"};
    uid_t owner = geteuid() == 0 ? 65534 : geteuid();
    assert_int_equal(mkdir(f->dir, 0700), 0);
    assert_int_equal(chown(f->dir, owner, (gid_t)-1), 0);
    wd_fixture_open(f);
    wd_fixture_fill(f, 1);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct stat st;
        assert_int_equal(stat(wd_fixture_path(f, names[i]), &st), 0);
        if (st.st_uid != owner || (st.st_mode & 07777) != 0600)
            fail_msg("%s: uid %u, mode %04o", names[i], st.st_uid, st.st_mode & 07777);
    }
}

static void chain_id_stays_and_stores_differ(void **state)
{
    wd_fixture *f = *state;
    char first[64];
    wd_fixture other;
    wd_fixture_open(f);
    (void)snprintf(first, sizeof(first), "%s", wd_store_chain_id(f->store));
    assert_int_equal(strlen(first), 36);
    wd_fixture_close(f);
    wd_fixture_open(f);
    assert_string_equal(wd_store_chain_id(f->store), first);
    wd_fixture_init(&other);
    wd_fixture_open(&other);
    assert_string_not_equal(wd_store_chain_id(other.store), first);
    wd_fixture_done(&other);
}

static const wd_schema_step test_steps[] = {
    {"first", "CREATE TABLE t (a INTEGER) STRICT"},
    {"second", "ALTER TABLE t ADD COLUMN b TEXT; UPDATE t SET b = 'was ' || a"},
    {"broken", "CREATE TABLE u (c INTEGER); SELECT no_such_function()"},
};

static sqlite3 *open_steps_db(wd_fixture *f)
{
    sqlite3 *db = NULL;
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/steps.db", f->top);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    return db;
}

static int64_t number(sqlite3 *db, const char *sql)
{
    int64_t value = -1;
    wd_error err = {0};
    if (wd_sql_number(db, sql, &value, &err) != WD_OK)
        fail_msg("%s: %s", sql, err.msg);
    return value;
}

static void claim_09_older_schema_migrates_with_its_rows(void **state)
{
    wd_fixture *f = *state;
    WD_AUTO(sqlite3) *db = open_steps_db(f);
    assert_int_equal(wd_schema_migrate(db, test_steps, 1, NULL), WD_OK);
    assert_int_equal(number(db, "PRAGMA user_version"), 1);
    assert_int_equal(wd_sql_exec(db, "INSERT INTO t VALUES (7)", NULL), WD_OK);
    assert_int_equal(wd_schema_migrate(db, test_steps, 2, NULL), WD_OK);
    assert_int_equal(wd_schema_migrate(db, test_steps, 2, NULL), WD_OK); /* once */
    assert_int_equal(number(db, "PRAGMA user_version"), 2);
    assert_int_equal(number(db, "SELECT count(*) FROM t WHERE b = 'was 7'"), 1);
}

static void failed_step_leaves_the_older_schema(void **state)
{
    wd_fixture *f = *state;
    wd_error err = {0};
    WD_AUTO(sqlite3) *db = open_steps_db(f);
    assert_int_not_equal(wd_schema_migrate(db, test_steps, 3, &err), WD_OK);
    assert_non_null(strstr(err.msg, "schema step 3 (broken)"));
    assert_int_equal(number(db, "PRAGMA user_version"), 2);
    assert_int_equal(number(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'u'"),
                     0);
}

/* What a store of the first schema kept is there afterwards, and says nobody's token. */
static void claim_08_the_first_schema_is_led_on_with_its_tokens(void **state)
{
    wd_fixture *f = *state;
    wd_error err = {0};
    wd_reader *reader = NULL;
    assert_int_equal(mkdir(f->dir, 0700), 0);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(wd_fixture_path(f, "store.db"), &db), SQLITE_OK);
    assert_int_equal(wd_schema_migrate(db, wd_schema_steps, 1, NULL), WD_OK);
    (void)sqlite3_close(db);
    assert_int_equal(chmod(wd_fixture_path(f, "store.db"), 0600), 0);
    assert_int_equal(wd_reader_open(f->dir, NULL, &reader, &err),
                     WD_FAILED_PRECONDITION);
    assert_non_null(strstr(err.msg, "start the gate on it once"));
    wd_fixture_sql(f, "INSERT INTO tokens VALUES ('0123456789', 'data', 'old', '', '', "
                      "'', 'observe:*', 'unbound', zeroblob(32), 1, 1, 2, 0, '', 0)");
    wd_fixture_refused(f, WD_DATA_LOSS, WD_REASON_CHAIN_BROKEN, "0123456789");
    wd_fixture_sql(f, "DELETE FROM tokens");
    wd_fixture_open(f);
    WD_AUTO(sqlite3) *after = NULL;
    assert_int_equal(sqlite3_open(wd_fixture_path(f, "store.db"), &after), SQLITE_OK);
    assert_int_equal(number(after, "PRAGMA user_version"), wd_schema_n_steps);
    assert_int_equal(number(after, "SELECT count(*) FROM pragma_table_info('tokens')"
                                   " WHERE name = 'parent'"),
                     1);
}

/* Each could keep rows from those who write or read them. */
static void claim_08_an_altered_schema_is_refused_by_name(void **state)
{
    wd_fixture *f = *state;
    static const struct {
        const char *sql;
        const char *words;
    } cases[] = {
        {"CREATE TRIGGER x BEFORE INSERT ON audit BEGIN SELECT raise(IGNORE); END",
         "the trigger x is not Warded's"},
        {"CREATE VIEW y AS SELECT 1", "the view y is not Warded's"},
        {"CREATE INDEX z ON audit (event)", "the index z is not Warded's"},
        {"DROP INDEX audit_call", "the index audit_call is missing"},
        {"DROP INDEX audit_call; CREATE INDEX audit_call ON audit (call_id)"
         " WHERE call_id > 'm'",
         "the index audit_call is not as Warded made it"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        wd_reader *reader = NULL;
        wd_error err = {0};
        wd_fixture_done(f);
        wd_fixture_init(f);
        wd_fixture_open(f);
        wd_fixture_fill(f, 3);
        wd_fixture_close(f);
        wd_fixture_sql(f, cases[i].sql);
        wd_fixture_refused(f, WD_DATA_LOSS, WD_REASON_CHAIN_BROKEN, cases[i].words);
        assert_int_equal(wd_reader_open(f->dir, NULL, &reader, &err), WD_DATA_LOSS);
        assert_non_null(strstr(err.msg, cases[i].words));
    }
}

static void claim_08_an_emptied_store_is_not_taken_for_a_new_one(void **state)
{
    wd_fixture *f = *state;
    wd_reader *reader = NULL;
    wd_fixture_open(f);
    wd_fixture_close(f);
    assert_int_equal(truncate(wd_fixture_path(f, "store.db"), 0), 0);
    f->options.create = false; /* a start makes none */
    wd_fixture_refused(f, WD_DATA_LOSS, WD_REASON_CHAIN_BROKEN, "is empty");
    assert_int_equal(wd_reader_open(f->dir, NULL, &reader, NULL), WD_DATA_LOSS);
}

static void a_pipe_in_place_of_the_database_is_refused_at_once(void **state)
{
    wd_fixture *f = *state;
    wd_reader *reader = NULL;
    wd_fixture_open(f);
    wd_fixture_close(f);
    assert_int_equal(unlink(wd_fixture_path(f, "store.db")), 0);
    assert_int_equal(mkfifo(wd_fixture_path(f, "store.db"), 0600), 0);
    wd_fixture_refused(f, WD_FAILED_PRECONDITION, WD_REASON_NONE, "no regular file");
    assert_int_equal(wd_reader_open(f->dir, NULL, &reader, NULL),
                     WD_FAILED_PRECONDITION);
}

static void schema_has_the_version_of_its_steps(void **state)
{
    wd_fixture *f = *state;
    wd_fixture_open(f);
    WD_AUTO(sqlite3) *db = NULL;
    assert_int_equal(sqlite3_open(wd_fixture_path(f, "store.db"), &db), SQLITE_OK);
    assert_int_equal(number(db, "PRAGMA user_version"), wd_schema_n_steps);
    assert_int_equal(number(db, "SELECT count(*) FROM pragma_table_list WHERE"
                                " name IN ('audit','tokens','meta') AND strict"),
                     3);
    assert_int_equal(number(db, "SELECT count(*) FROM pragma_journal_mode"
                                " WHERE journal_mode = 'wal'"),
                     1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(claim_04_start_refuses_network_file_system),
        TEST(local_file_systems_are_taken),
        TEST(folder_that_others_can_enter_is_refused),
        TEST(database_that_others_can_read_is_refused),
        TEST(absent_store_is_not_found_unless_it_may_be_made),
        TEST(second_owner_is_refused_with_the_first_ones_pid),
        TEST(claim_09_newer_schema_is_refused),
        TEST(database_of_another_program_is_refused),
        TEST(file_that_is_no_database_is_refused),
        TEST(damaged_tail_is_refused_at_start),
        TEST(reserve_that_does_not_fit_is_refused),
        TEST(reserve_is_set_aside_for_real),
        TEST(files_belong_to_the_folders_owner),
        TEST(chain_id_stays_and_stores_differ),
        TEST(claim_09_older_schema_migrates_with_its_rows),
        TEST(failed_step_leaves_the_older_schema),
        TEST(claim_08_the_first_schema_is_led_on_with_its_tokens),
        TEST(claim_08_an_altered_schema_is_refused_by_name),
        TEST(claim_08_an_emptied_store_is_not_taken_for_a_new_one),
        TEST(a_pipe_in_place_of_the_database_is_refused_at_once),
        TEST(schema_has_the_version_of_its_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
