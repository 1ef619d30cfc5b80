/* The tokens table against the trail: a change of the table alone is found, by the gate
 * at its start and by whoever verifies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "store/audit_verify.h"
#include "store/tokens.h"
#include "tests/support/store_fixture.h"

#define CLIENT "spiffe://warded.local/ns/default/owner/ann/client/trainer"

static void issue_spec(wd_fixture *f, const wd_token_spec *spec, char id[11])
{
    WD_AUTO_ISSUED issued = {0};
    wd_error err = {0};
    if (wd_tokens_issue_now(f->store, spec, "local:0", &issued, &err) != WD_OK)
        fail_msg("issue: %s", err.msg);
    (void)snprintf(id, 11, "%s", issued.token->id);
}

static void issue(wd_fixture *f, const char *name, const char *parent, char id[11])
{
    static const char *const scopes[] = {"observe:python_code"};
    const wd_token_spec spec = {.name = name,
                                .scopes = scopes,
                                .n_scopes = 1,
                                .bind = "uri:" CLIENT,
                                .parent = parent};
    issue_spec(f, &spec, id);
}

static void take_back(wd_fixture *f, const char *id)
{
    const wd_token_revocation revocation = {id, "leaked", "local:0"};
    bool was_live = false;
    assert_int_equal(wd_tokens_revoke_now(f->store, &revocation, &was_live, NULL),
                     WD_OK);
}

static wd_status verify(wd_fixture *f, const wd_audit_range *range,
                        wd_audit_report *report, wd_error *err)
{
    WD_AUTO(wd_reader) *reader = NULL;
    assert_int_equal(wd_reader_open(f->dir, NULL, &reader, NULL), WD_OK);
    return wd_audit_verify(reader, range, report, err);
}

static const wd_audit_range all = {0};

static void what_the_store_writes_agrees(void **state)
{
    wd_fixture *f = *state;
    wd_audit_report report;
    wd_error err = {0};
    char first[11];
    char second[11];
    issue(f, "first", "", first);
    issue(f, "second", first, second);
    take_back(f, second);
    take_back(f, second);
    wd_fixture_close(f);
    wd_fixture_open(f);
    if (verify(f, &all, &report, &err) != WD_OK)
        fail_msg("verify: %s", err.msg);
    assert_int_equal(report.n_tokens, 2);
    assert_int_equal(report.rows, 4);
}

/* 64 scopes of 128 bytes are more than a row's detail holds. */
static void scopes_too_long_for_a_row_are_committed_to(void **state)
{
    static char texts[WD_SCOPES_COUNT][WD_SCOPE_BYTES + 1];
    wd_fixture *f = *state;
    const char *scopes[WD_SCOPES_COUNT];
    wd_audit_report report;
    wd_error err = {0};
    char id[11];
    for (size_t i = 0; i < WD_SCOPES_COUNT; i++) {
        memset(texts[i], 'x', WD_SCOPE_BYTES);
        memcpy(texts[i], "observe:", 8);
        texts[i][20] = (char)('A' + i % 26);
        scopes[i] = texts[i];
    }
    const wd_token_spec spec = {.name = "long",
                                .scopes = scopes,
                                .n_scopes = WD_SCOPES_COUNT,
                                .bind = "uri:" CLIENT};
    issue_spec(f, &spec, id);
    if (verify(f, &all, &report, &err) != WD_OK)
        fail_msg("verify: %s", err.msg);
    wd_fixture_close(f);
    wd_fixture_sql(f, "UPDATE tokens SET scopes = replace(scopes, 'xA', 'xB')");
    assert_int_equal(verify(f, &all, &report, &err), WD_DATA_LOSS);
    assert_non_null(strstr(err.msg, "its scopes"));
}

/* Rows 1..3: two tokens are issued, one of them with the other, and then revoked. */
static const struct {
    const char *sql, *words;
    uint64_t bad_seq;
} changes[] = {
    {"UPDATE tokens SET revoked_ms = 0", "live in the tokens table", 3},
    {"UPDATE tokens SET scopes = 'observe:** token:**' WHERE name = 'first'",
     "its scopes is not what audit row 1", 1},
    {"UPDATE tokens SET expires_ms = expires_ms + 1 WHERE name = 'first'",
     "its expires_ms", 1},
    {"UPDATE tokens SET not_before_ms = 0 WHERE name = 'first'", "its not_before_ms",
     1},
    {"UPDATE tokens SET bind = 'unbound' WHERE name = 'first'", "its bind", 1},
    {"UPDATE tokens SET audience = 'spiffe://x' WHERE name = 'first'", "its audience",
     1},
    {"UPDATE tokens SET kind = 'admin' WHERE name = 'first'", "its kind", 1},
    {"UPDATE tokens SET owner = 'eve' WHERE name = 'first'", "its owner", 1},
    {"UPDATE tokens SET name = 'other' WHERE name = 'first'", "its name", 1},
    {"UPDATE tokens SET digest = zeroblob(32) WHERE name = 'first'", "its fingerprint",
     1},
    {"UPDATE tokens SET parent = '' WHERE name = 'second'", "its parent", 2},
    {"UPDATE tokens SET parent = '0123456789' WHERE name = 'first'", "its parent", 1},
    {"UPDATE tokens SET id = '0123456789' WHERE name = 'first'",
     "gone from the tokens table", 1},
    {"DELETE FROM tokens WHERE name = 'second'", "gone from the tokens table", 2},
    {"UPDATE tokens SET revoked_ms = 5 WHERE name = 'first'",
     "no audit row tells of that", 1},
    {"INSERT INTO tokens (id, kind, name, owner, purpose, audience, scopes, bind,"
     " digest, created_ms, not_before_ms, expires_ms, revoked_ms, revoked_reason,"
     " last_used_ms, family, ttl_ms, renewable_until_ms) SELECT '0123456789', kind,"
     " name, owner, purpose, audience, scopes, bind, digest, created_ms,"
     " not_before_ms, expires_ms, 0, '', 0, '0123456789', ttl_ms,"
     " renewable_until_ms FROM tokens LIMIT 1",
     "no audit row tells of its issue", 0},
    {"UPDATE tokens SET ttl_ms = ttl_ms + 1 WHERE name = 'first'", "its expires_ms", 1},
    {"UPDATE tokens SET renewable_until_ms = renewable_until_ms + 1 WHERE name ="
     " 'first'",
     "its renewable_until_ms", 1},
    {"UPDATE tokens SET generation = 7 WHERE name = 'first'", "its generation", 1},
    {"UPDATE tokens SET family = '0123456789' WHERE name = 'second'", "its family", 2},
    {"UPDATE tokens SET idle_ms = 1 WHERE name = 'first'", "its idle_ms", 1},
    {"UPDATE tokens SET max_uses = 1 WHERE name = 'first'", "its max_uses", 1},
    {"UPDATE tokens SET rate_calls = 1 WHERE name = 'first'", "its rate_calls", 1},
    {"UPDATE tokens SET rate_per_ms = 1 WHERE name = 'first'", "its rate_per_ms", 1},
    {"UPDATE tokens SET concurrency = 1 WHERE name = 'first'", "its concurrency", 1},
    {"UPDATE tokens SET retires_ms = 1 WHERE name = 'first'", "its retires_ms", 1},
    {"UPDATE tokens SET retires_old = 1 WHERE name = 'first'", "its retires_old", 1},
    {"UPDATE tokens SET wraps = 'admin' WHERE name = 'first'", "its generation", 1},
    {"UPDATE tokens SET inner_ttl_ms = 1 WHERE name = 'first'", "its inner_ttl_ms", 1},
    {"UPDATE tokens SET overlap_ms = 1 WHERE name = 'first'", "its overlap_ms", 1},
    {"UPDATE tokens SET reserved = 1 WHERE name = 'first'", "its uses", 1},
    {"UPDATE tokens SET unwrapped = '0123456789' WHERE name = 'first'",
     "its unwrapping", 1},
};

static void claim_08_a_changed_tokens_table_is_found(void **state)
{
    wd_fixture *f = *state;
    char first[11];
    char second[11];
    issue(f, "first", "", first);
    issue(f, "second", first, second);
    take_back(f, second);
    wd_fixture_close(f);
    wd_fixture_sql(f, "CREATE TABLE side.kept AS SELECT * FROM tokens");
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        wd_audit_report report;
        wd_error err = {0};
        print_message("  %s\n", changes[i].sql);
        wd_fixture_sql(f, changes[i].sql);
        assert_int_equal(verify(f, &all, &report, &err), WD_DATA_LOSS);
        assert_int_equal(err.reason, WD_REASON_CHAIN_BROKEN);
        assert_int_equal(report.fault, WD_AUDIT_TOKENS);
        if (strstr(err.msg, changes[i].words) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", err.msg, changes[i].words);
        assert_int_equal(report.bad_seq, changes[i].bad_seq);
        wd_fixture_refused(f, WD_DATA_LOSS, WD_REASON_CHAIN_BROKEN, changes[i].words);
        wd_fixture_refused(f, WD_DATA_LOSS, WD_REASON_CHAIN_BROKEN, "restore a backup");
        wd_fixture_sql(
            f, "DELETE FROM tokens; INSERT INTO tokens SELECT * FROM side.kept");
        assert_int_equal(verify(f, &all, &report, &err), WD_OK);
    }
}

/* The start verifies the newest rows alone; rows about tokens, wherever they are. */
static void claim_08_an_old_row_about_a_token_is_verified_at_start(void **state)
{
    wd_fixture *f = *state;
    char id[11];
    issue(f, "first", "", id);
    wd_fixture_fill(f, WD_STORE_TAIL_ROWS + 1);
    wd_fixture_close(f);
    wd_fixture_sql(f, "UPDATE tokens SET expires_ms = 9 WHERE name = 'first'");
    wd_fixture_refused(f, WD_DATA_LOSS, WD_REASON_CHAIN_BROKEN, "its expires_ms");
    wd_fixture_sql(f, "UPDATE audit SET detail = json_set(detail, '$.expires_ms', 9)"
                      " WHERE seq = 1");
    wd_fixture_refused(f, WD_DATA_LOSS, WD_REASON_CHAIN_BROKEN,
                       "audit row 1 was changed");
}

static void a_part_of_the_trail_says_nothing_of_tokens(void **state)
{
    wd_fixture *f = *state;
    wd_audit_report report;
    const wd_audit_range part = {.first = 2};
    char id[11];
    issue(f, "first", "", id);
    wd_fixture_fill(f, 3);
    assert_int_equal(verify(f, &part, &report, NULL), WD_OK);
    assert_int_equal(report.n_tokens, 0);
}

int main(void)
{
#define TEST(name)                                                                     \
    cmocka_unit_test_setup_teardown(name, wd_fixture_set_up, wd_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_the_store_writes_agrees),
        TEST(scopes_too_long_for_a_row_are_committed_to),
        TEST(claim_08_a_changed_tokens_table_is_found),
        TEST(claim_08_an_old_row_about_a_token_is_verified_at_start),
        TEST(a_part_of_the_trail_says_nothing_of_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
