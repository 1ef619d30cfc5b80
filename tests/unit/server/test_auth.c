/* The stage "auth": a call can be found by its token before that token is checked, so that
 * a revocation in between ends it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "server/listener.h"
#include "server/parts.h"
#include "server/stages.h"
#include "store/token_table.h"
#include "tests/support/store_fixture.h"

#define PEER "spiffe://warded.local/ns/default/owner/ann/client/trainer"

typedef struct scene {
    wd_fixture store; /* first */
    wd_gate gate;
    wd_token_issued issued;
    size_t signalled; /* calls that the revocation found */
} scene;

static scene *now; /* for what is wrapped */

static void told(void *arg, uint64_t number)
{
    (void)arg;
    (void)number;
}

/* What the linker sends here.
 * NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming) */
bool __wrap_wd_listener_denies(struct wd_listener *listener, const wd_identity *who);
bool __wrap_wd_listener_denies(struct wd_listener *listener, const wd_identity *who)
{
    (void)listener;
    (void)who;
    return false;
}

/* The check passes; while it does, the token is taken back, as by Revoke: in memory, then
 * the calls under way. */
wd_status __real_wd_token_check(wd_token_table *table, const wd_token_proof *proof,
                                wd_token **ret_token, wd_error *err);
wd_status __wrap_wd_token_check(wd_token_table *table, const wd_token_proof *proof,
                                wd_token **ret_token, wd_error *err);
wd_status __wrap_wd_token_check(wd_token_table *table, const wd_token_proof *proof,
                                wd_token **ret_token, wd_error *err)
{
    const wd_live_filter filter = {.token_id = now->issued.token->id};
    wd_status status = __real_wd_token_check(table, proof, ret_token, err);
    (void)wd_token_revoke_now(now->issued.token, "", proof->now_ms);
    now->signalled = wd_inflight_signal(now->gate.inflight, &filter, WD_SIGNAL_REVOKED);
    return status;
}

/* NOLINTEND(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming) */

static void claim_02_a_revocation_during_the_check_finds_the_call(void **state)
{
    scene *s = *state;
    wd_peer peer = {.pipe = 1, .principal = wd_peers_principal(s->gate.peers, PEER)};
    wd_request request = {.kind = WD_REQUEST_CALL, .token = s->issued.text.chars};
    wd_call call = {.gate = &s->gate, .peer = &peer, .request = &request};
    wd_error err = {0};
    (void)snprintf(peer.identity.uri, sizeof(peer.identity.uri), "%s", PEER);

    assert_int_equal(wd_auth_check(&call, &err), WD_NEXT);
    assert_int_equal(s->signalled, 1);
    assert_int_equal(wd_inflight_signalled(s->gate.inflight, &call.live),
                     WD_SIGNAL_REVOKED);
    wd_inflight_remove(s->gate.inflight, &call.live);
    wd_token_unref(call.token);
}

static int set_up(void **state)
{
    static scene s; /* cmocka's state needs an address */
    static const char *const scopes[] = {"observe:*"};
    const wd_token_spec spec = {
        .name = "trainer", .scopes = scopes, .n_scopes = 1, .bind = "uri:" PEER};

    wd_fixture_init(&s.store);
    wd_fixture_open(&s.store);
    s.gate.store = s.store.store;
    s.gate.clock = &s.store.clock.clock;
    s.gate.peers = wd_peers_new();
    s.gate.inflight = wd_inflight_new(told, NULL);
    now = &s;
    *state = &s;
    return wd_tokens_issue_now(s.store.store, &spec, "local:0", &s.issued, NULL) ==
                   WD_OK
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    scene *s = *state;

    wd_token_issued_done(&s->issued);
    wd_inflight_free(s->gate.inflight);
    wd_peers_free(s->gate.peers);
    wd_fixture_done(&s->store);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            claim_02_a_revocation_during_the_check_finds_the_call, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
