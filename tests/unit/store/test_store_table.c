/* The table in memory: every reason by its cause, and nothing finer for strangers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store/token_table.h"
#include "tests/support/store_fixture.h"

#define TRAINER "spiffe://warded.local/ns/default/owner/ann/client/trainer"
#define THIEF   "spiffe://warded.local/ns/default/owner/ann/client/thief"
#define GATE    "spiffe://warded.local/ns/default/owner/ann/gate/one"

static const char *const scopes[] = {"observe:python_code", "env:*"};

static wd_token_spec spec_of_trainer(void)
{
    return (wd_token_spec){
        .name = "trainer", .scopes = scopes, .n_scopes = 2, .bind = "uri:" TRAINER};
}

static wd_token_text issue(wd_fixture *f, const wd_token_spec *spec)
{
    WD_AUTO_ISSUED issued = {0};
    wd_error err = {0};
    if (wd_tokens_issue_now(f->store, spec, "local:0", &issued, &err) != WD_OK)
        fail_msg("issue: %s", err.msg);
    return issued.text;
}

static void take_back(wd_fixture *f, const char *token)
{
    wd_token_name name;
    bool was_live = false;
    assert_true(wd_token_parse(token, &name));
    const wd_token_revocation revocation = {name.id, "", "local:0"};
    assert_int_equal(wd_tokens_revoke_now(f->store, &revocation, &was_live, NULL),
                     WD_OK);
}

static wd_token_proof proof_of(wd_fixture *f, const char *token)
{
    return (wd_token_proof){.token = token,
                            .peer_uri = TRAINER,
                            .gate_uri = GATE,
                            .now_ms = wd_store_now_ms(f->store)};
}

static void assert_refused(wd_fixture *f, const wd_token_proof *proof, wd_reason reason)
{
    wd_error err = {0};
    wd_token *token = NULL;
    wd_status status = wd_token_check(wd_store_tokens(f->store), proof, &token, &err);
    if (status != WD_UNAUTHENTICATED || err.reason != reason)
        fail_msg("%s, not %s: %s", wd_reason_name(err.reason), wd_reason_name(reason),
                 err.msg);
    assert_null(token);
    if (proof->token != NULL && strlen(proof->token) > 20)
        assert_null(strstr(err.msg, proof->token + 20)); /* no part of the secret */
}

static void assert_passes(wd_fixture *f, const wd_token_proof *proof)
{
    wd_error err = {0};
    WD_AUTO(wd_token) *token = NULL;
    if (wd_token_check(wd_store_tokens(f->store), proof, &token, &err) != WD_OK)
        fail_msg("%s: %s", wd_reason_name(err.reason), err.msg);
}

static void token_of_the_right_client_passes(void **state)
{
    wd_fixture *f = *state;
    wd_token_spec spec = spec_of_trainer();
    wd_token_text text = issue(f, &spec);
    wd_token_proof proof = proof_of(f, text.chars);
    WD_AUTO(wd_token) *token = NULL;
    assert_int_equal(wd_token_check(wd_store_tokens(f->store), &proof, &token, NULL),
                     WD_OK);
    assert_string_equal(token->name, "trainer");
    assert_int_equal(token->n_scopes, 2);
    assert_string_equal(token->scopes[1], "env:*");
    assert_int_equal(wd_token_expires_ms(token),
                     WD_FIXTURE_NOW_MS + WD_TOKEN_TTL_DATA_MS);
    assert_int_equal(wd_token_last_used_ms(token), WD_FIXTURE_NOW_MS);
}

static void claim_05_no_token_is_missing(void **state)
{
    wd_fixture *f = *state;
    wd_token_proof proof = proof_of(f, "");
    assert_refused(f, &proof, WD_REASON_TOKEN_MISSING);
    proof.token = NULL;
    assert_refused(f, &proof, WD_REASON_TOKEN_MISSING);
}

static void claim_05_text_that_is_no_token_is_malformed(void **state)
{
    wd_fixture *f = *state;
    static const char *const cases[] = {"x", "wdt1_", "Bearer wdt1_0123456789",
                                        "\xff\xfe", " "};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        wd_token_proof proof = proof_of(f, cases[i]);
        assert_refused(f, &proof, WD_REASON_TOKEN_MALFORMED);
    }
}

static void claim_05_token_of_another_store_is_unknown(void **state)
{
    wd_fixture *f = *state;
    wd_token_text text;
    wd_token_mint(WD_TOKEN_DATA, NULL, NULL, &text);
    wd_token_proof proof = proof_of(f, text.chars);
    assert_refused(f, &proof, WD_REASON_TOKEN_UNKNOWN);
}

/* Draws the ten characters of the id `arg`, and then the seventh of the alphabet. */
static void graft_id(void *arg, void *bytes, size_t size)
{
    static const char alphabet[] =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const char *id = arg;
    memset(bytes, 7, size);
    assert_true(size > WD_TOKEN_ID_CHARS);
    for (size_t i = 0; i < WD_TOKEN_ID_CHARS; i++) /* bytes are drawn from the end */
        ((uint8_t *)bytes)[size - 1 - i] =
            (uint8_t)(strchr(alphabet, id[i]) - alphabet);
}

static void
claim_05_known_id_with_a_wrong_secret_is_unknown_even_when_revoked(void **state)
{
    wd_fixture *f = *state;
    wd_token_text forged; /* the id of the real one, and forty-three times '7' */
    wd_token_spec spec = spec_of_trainer();
    wd_token_text real = issue(f, &spec);
    wd_token_mint(WD_TOKEN_DATA, graft_id, real.chars + 5, &forged);
    assert_memory_equal(forged.chars + 5, real.chars + 5, WD_TOKEN_ID_CHARS);
    wd_token_proof proof = proof_of(f, forged.chars);
    proof.peer_uri = THIEF;
    assert_refused(f, &proof, WD_REASON_TOKEN_UNKNOWN);
    take_back(f, real.chars);
    assert_refused(f, &proof, WD_REASON_TOKEN_UNKNOWN);
}

static void claim_05_token_expires_at_its_time(void **state)
{
    wd_fixture *f = *state;
    wd_token_spec spec = spec_of_trainer();
    spec.ttl_ms = 60000;
    wd_token_text text = issue(f, &spec);
    f->clock.now_ms += 59999;
    wd_token_proof proof = proof_of(f, text.chars);
    assert_passes(f, &proof);
    f->clock.now_ms += 1;
    proof = proof_of(f, text.chars);
    assert_refused(f, &proof, WD_REASON_TOKEN_EXPIRED);
}

static void claim_05_clock_set_back_revives_nothing_across_a_restart(void **state)
{
    wd_fixture *f = *state;
    wd_token_spec spec = spec_of_trainer();
    spec.ttl_ms = 60000;
    wd_token_text text = issue(f, &spec);
    f->clock.now_ms += 60000;
    (void)wd_store_now_ms(f->store);
    wd_fixture_set_back(f, 50000);
    wd_token_proof proof = proof_of(f, text.chars);
    assert_refused(f, &proof, WD_REASON_TOKEN_EXPIRED);
    wd_fixture_close(f);
    wd_fixture_open(f);
    proof = proof_of(f, text.chars);
    assert_refused(f, &proof, WD_REASON_TOKEN_EXPIRED);
}

/* A year ahead once, and set right again: what is issued then ends all the same. */
static void claim_05_clock_set_back_makes_no_token_live_longer(void **state)
{
    static const bool restarts[] = {false, true};
    wd_fixture *f = *state;
    const int64_t year_ms = 365LL * 24 * 60 * 60 * 1000;

    for (size_t i = 0; i < 2; i++) {
        wd_token_spec spec = spec_of_trainer();
        spec.ttl_ms = 60000;
        f->clock.now_ms += year_ms;
        (void)wd_store_now_ms(f->store);
        wd_fixture_set_back(f, year_ms);
        wd_token_text text = issue(f, &spec);
        f->clock.now_ms += 59999;
        wd_token_proof proof = proof_of(f, text.chars);
        assert_passes(f, &proof);
        if (restarts[i])
            wd_fixture_close(f);
        f->clock.now_ms += 1;
        if (restarts[i])
            wd_fixture_open(f);
        proof = proof_of(f, text.chars);
        assert_refused(f, &proof, WD_REASON_TOKEN_EXPIRED);
    }
}

static void claim_05_token_of_tomorrow_is_not_yet(void **state)
{
    wd_fixture *f = *state;
    wd_token_spec spec = spec_of_trainer();
    spec.not_before_ms = WD_FIXTURE_NOW_MS + 3600000;
    wd_token_text text = issue(f, &spec);
    wd_token_proof proof = proof_of(f, text.chars);
    assert_refused(f, &proof, WD_REASON_TOKEN_NOT_YET);
    f->clock.now_ms += 3600000 - WD_TOKEN_LEEWAY_MS - 1;
    proof = proof_of(f, text.chars);
    assert_refused(f, &proof, WD_REASON_TOKEN_NOT_YET);
    f->clock.now_ms += 1;
    proof = proof_of(f, text.chars);
    assert_passes(f, &proof);
}

static void claim_05_revoked_token_is_refused_at_once_and_after_a_restart(void **state)
{
    wd_fixture *f = *state;
    wd_token_spec spec = spec_of_trainer();
    wd_token_text text = issue(f, &spec);
    char id[WD_TOKEN_ID_CHARS + 1];
    assert_true(wd_token_claimed_id(text.chars, id));
    wd_token_revocation revocation = {id, "lost laptop", "local:0"};
    bool was_live = false;
    wd_token_proof proof = proof_of(f, text.chars);
    assert_passes(f, &proof);
    assert_int_equal(wd_tokens_revoke_now(f->store, &revocation, &was_live, NULL),
                     WD_OK);
    assert_true(was_live);
    assert_refused(f, &proof, WD_REASON_TOKEN_REVOKED);
    assert_int_equal(wd_tokens_revoke_now(f->store, &revocation, &was_live, NULL),
                     WD_OK);
    assert_false(was_live);
    wd_fixture_close(f);
    wd_fixture_open(f);
    assert_refused(f, &proof, WD_REASON_TOKEN_REVOKED);
}

static void claim_05_someone_elses_token_is_not_yours(void **state)
{
    wd_fixture *f = *state;
    wd_token_spec spec = spec_of_trainer();
    wd_token_text text = issue(f, &spec);
    wd_token_proof proof = proof_of(f, text.chars);
    proof.peer_uri = THIEF;
    assert_refused(f, &proof, WD_REASON_TOKEN_NOT_YOURS);
    proof.peer_uri = TRAINER "x";
    assert_refused(f, &proof, WD_REASON_TOKEN_NOT_YOURS);
    proof.peer_uri = NULL;
    assert_refused(f, &proof, WD_REASON_TOKEN_NOT_YOURS);
}

static void claim_03_token_for_another_gate_is_refused(void **state)
{
    wd_fixture *f = *state;
    wd_token_spec spec = spec_of_trainer();
    spec.audience = "spiffe://warded.local/ns/default/owner/*/gate/one";
    wd_token_text text = issue(f, &spec);
    wd_token_proof proof = proof_of(f, text.chars);
    assert_passes(f, &proof);
    proof.gate_uri = "spiffe://warded.local/ns/default/owner/ann/gate/two";
    assert_refused(f, &proof, WD_REASON_TOKEN_AUDIENCE);
    proof.gate_uri = "spiffe://warded.local/ns/default/owner/ann/x/gate/one";
    assert_refused(f, &proof, WD_REASON_TOKEN_AUDIENCE);
}

static void unbound_token_works_for_anyone(void **state)
{
    wd_fixture *f = *state;
    wd_token_spec spec = spec_of_trainer();
    spec.bind = "unbound";
    spec.allow_unbound = true;
    wd_token_text text = issue(f, &spec);
    wd_token_proof proof = proof_of(f, text.chars);
    proof.peer_uri = THIEF;
    assert_passes(f, &proof);
}

static void revoking_an_unknown_id_is_not_found(void **state)
{
    wd_fixture *f = *state;
    wd_error err = {0};
    bool was_live = false;
    wd_head before = wd_audit_head(f->store);
    wd_token_revocation revocation = {"nosuchtokn", "", "local:0"};
    assert_int_equal(wd_tokens_revoke_now(f->store, &revocation, &was_live, &err),
                     WD_NOT_FOUND);
    assert_int_equal(err.reason, WD_REASON_TOKEN_ID_UNKNOWN);
    assert_int_equal(wd_audit_head(f->store).seq, before.seq);
}

static void no_secret_is_at_rest(void **state)
{
    wd_fixture *f = *state;
    wd_token_spec spec = spec_of_trainer();
    wd_token_text text = issue(f, &spec);
    char command[256];
    wd_fixture_close(f);
    (void)snprintf(command, sizeof(command), "grep -rqF '%s' '%s'", text.chars + 20,
                   f->dir);
    assert_int_not_equal(wd_fixture_shell(command), 0);
    wd_fixture_open(f);
}

static void last_use_is_kept_across_a_restart(void **state)
{
    wd_fixture *f = *state;
    wd_token_spec spec = spec_of_trainer();
    wd_token_text text = issue(f, &spec);
    f->clock.now_ms += 1234;
    wd_token_proof proof = proof_of(f, text.chars);
    assert_passes(f, &proof);
    wd_fixture_close(f);
    WD_AUTO(wd_reader) *reader = NULL;
    WD_AUTO(wd_token) *token = NULL;
    char id[WD_TOKEN_ID_CHARS + 1];
    assert_true(wd_token_claimed_id(text.chars, id));
    assert_int_equal(wd_reader_open(f->dir, NULL, &reader, NULL), WD_OK);
    assert_int_equal(wd_tokens_find(reader, id, &token, NULL), WD_OK);
    assert_int_equal(wd_token_last_used_ms(token), WD_FIXTURE_NOW_MS + 1234);
    assert_int_equal(wd_reader_highest_ms(reader), WD_FIXTURE_NOW_MS + 1234);
    wd_fixture_open(f);
}

static void many_tokens_are_all_found(void **state)
{
    wd_fixture *f = *state;
    enum { MANY = 3000 };
    wd_token_text *texts = calloc(MANY, sizeof(*texts));
    assert_non_null(texts);
    wd_token_table *table = wd_store_tokens(f->store);
    size_t before = wd_token_table_count(table);
    wd_token_spec spec = spec_of_trainer();
    for (size_t i = 0; i < MANY; i++)
        texts[i] = issue(f, &spec);
    assert_int_equal(wd_token_table_count(table), before + MANY);
    for (size_t i = 0; i < MANY; i++) {
        wd_token_proof proof = proof_of(f, texts[i].chars);
        assert_passes(f, &proof);
    }
    free(texts);
}

int main(void)
{
#define TEST(name)                                                                     \
    cmocka_unit_test_setup_teardown(name, wd_fixture_set_up, wd_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(token_of_the_right_client_passes),
        TEST(claim_05_no_token_is_missing),
        TEST(claim_05_text_that_is_no_token_is_malformed),
        TEST(claim_05_token_of_another_store_is_unknown),
        TEST(claim_05_known_id_with_a_wrong_secret_is_unknown_even_when_revoked),
        TEST(claim_05_token_expires_at_its_time),
        TEST(claim_05_clock_set_back_revives_nothing_across_a_restart),
        TEST(claim_05_clock_set_back_makes_no_token_live_longer),
        TEST(claim_05_token_of_tomorrow_is_not_yet),
        TEST(claim_05_revoked_token_is_refused_at_once_and_after_a_restart),
        TEST(claim_05_someone_elses_token_is_not_yours),
        TEST(claim_03_token_for_another_gate_is_refused),
        TEST(unbound_token_works_for_anyone),
        TEST(revoking_an_unknown_id_is_not_found),
        TEST(no_secret_is_at_rest),
        TEST(last_use_is_kept_across_a_restart),
        TEST(many_tokens_are_all_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
