/* Who is turned away, why, and what they hear: each cause by itself. */
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "gate_fixture.h"
#include "proto/tls/peer_uid.h"
#include "raw_peer.h"

/* What the gate said about a peer and what the peer heard. */
static void expect_refusal(gate_fixture *g, const wd_pem_pair *pair, wd_tls_cause cause,
                           const char *name)
{
    static const uint8_t request[] = "\0SP\0\0\x30\0\0\0\0\0\0\0\0\0\x05\x80\0\0\x01x";
    size_t before = log_rejects(&g->log);
    wd_tls_reject reject;
    uint8_t byte;
    raw_peer peer;
    int heard;

    assert_int_equal(raw_connect(&peer, g->port, pair),
                     0); /* TLS 1.3: not judged yet */
    (void)mbedtls_ssl_write(&peer.ssl, request, sizeof request - 1);
    heard = raw_read(&peer, &byte, 1, 5000);
    reject = log_wait_reject(&g->log, before + 1);
    if (reject.cause != cause)
        fail_msg("%s: cause %s: %s", name, wd_tls_cause_name(reject.cause),
                 reject.detail);
    if (heard != -1000 - wd_tls_cause_alert(cause))
        fail_msg("%s: heard %d", name, heard);
    assert_int_equal(reject.alert, wd_tls_cause_alert(cause));
    assert_int_equal(reject.application_bytes, 0);
    assert_memory_equal(reject.address, "127.0.0.1:", 10);
    raw_close(&peer);
}

static void expect_no_byte_read(gate_fixture *g)
{
    wd_tls_stats stats;

    wd_tls_binding_stats(g->binding, &stats);
    assert_int_equal(stats.refused_bytes_read, 0);
    assert_int_equal(stats.bytes_read, 0);
    assert_int_equal(stats.bytes_written, 0);
    assert_int_equal(stats.accepted, 0);
    assert_int_equal(log_pipes(&g->log), 0);
}

typedef struct door {
    const char *name;
    odd_spec spec;
    wd_tls_cause cause;
} door;

static void expect_doors(const wd_ca *ca, gate_fixture *g, const door *doors, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        wd_pem_pair pair = {NULL, NULL};

        odd_issue(ca, &doors[i].spec, &pair);
        expect_refusal(g, &pair, doors[i].cause, doors[i].name);
        wd_pem_pair_done(&pair);
    }
    expect_no_byte_read(g);
}

static void claim_04_odd_certificates_are_refused_by_cause(void **state)
{
    const int64_t now_ms = test_now_ms();
    const door doors[] = {
        {"expired",
         {.from_ms = now_ms - 3 * TEST_DAY_MS, .to_ms = now_ms - TEST_DAY_MS},
         WD_TLS_EXPIRED},
        {"not yet valid",
         {.from_ms = now_ms + TEST_DAY_MS, .to_ms = now_ms + 2 * TEST_DAY_MS},
         WD_TLS_NOT_YET_VALID},
        {"no san", {.no_uri = true}, WD_TLS_NO_SAN},
        {"two uris", {.uri_2 = TEST_GATE}, WD_TLS_MANY_URIS},
        {"bad san", {.uri = "https://test.example/"}, WD_TLS_BAD_SAN},
        {"for servers", {.server_only = true}, WD_TLS_BAD_USAGE},
        {"for nothing in particular", {.no_usage = true}, WD_TLS_BAD_USAGE},
        {"a CA's", {.is_ca = true}, WD_TLS_CA_CERTIFICATE},
        {"P-384", {.p384 = true}, WD_TLS_WEAK_KEY},
    };
    gate_fixture g;

    (void)state;
    gate_start(&g, (wd_tls_options){0}, NULL);
    expect_doors(g.ca, &g, doors, sizeof doors / sizeof doors[0]);
    gate_stop(&g);
}

static void claim_04_foreign_cas_are_refused_by_cause(void **state)
{
    WD_AUTO(wd_ca) *other = test_ca("Other CA");
    WD_AUTO(wd_ca) *same = test_ca("Test CA");
    gate_fixture g;

    (void)state;
    gate_start(&g, (wd_tls_options){0}, NULL);
    expect_doors(other, &g, &(door){"foreign CA", {.p384 = false}, WD_TLS_UNKNOWN_CA},
                 1);
    expect_doors(same, &g, &(door){"same name", {.p384 = false}, WD_TLS_BAD_SIGNATURE},
                 1);
    gate_stop(&g);
}

static void claim_04_no_certificate_is_refused(void **state)
{
    gate_fixture g;

    (void)state;
    gate_start(&g, (wd_tls_options){0}, NULL);
    expect_refusal(&g, NULL, WD_TLS_NO_CERTIFICATE, "none");
    expect_no_byte_read(&g);
    gate_stop(&g);
}

static void claim_04_plain_text_is_refused(void **state)
{
    gate_fixture g;
    wd_tls_reject reject;
    int fd;

    (void)state;
    gate_start(&g, (wd_tls_options){0}, NULL);
    fd = tcp_connect(g.port);
    assert_int_equal(write(fd, "GET / HTTP/1.1\r\n\r\n", 18), 18);
    assert_true(tcp_wait_closed(fd, 5000) >= 0);
    reject = log_wait_reject(&g.log, 1);
    assert_int_equal(reject.cause, WD_TLS_PROTOCOL);
    expect_no_byte_read(&g);
    (void)close(fd);
    gate_stop(&g);
}

static void denied_names_are_refused(void **state)
{
    wd_pem_pair pair;
    gate_fixture g;

    (void)state;
    gate_start(&g, (wd_tls_options){0}, "spiffe://test.example/ns/default/owner/ann");
    good_issue(g.ca, TEST_CLIENT, &pair);
    expect_refusal(&g, &pair, WD_TLS_DENIED, "denied");
    expect_no_byte_read(&g);
    wd_pem_pair_done(&pair);
    gate_stop(&g);
}

static void allow_tls_12(gate_fixture *g)
{
    const wd_tls_pem pem = {
        wd_ca_pem(g->ca), g->own.cert, g->own.key, NULL, true, NULL};
    wd_tls_credentials *credentials = NULL;
    wd_error err;

    OK(wd_tls_credentials_make(&pem, &credentials, &err), err);
    wd_tls_binding_swap(g->binding, credentials);
    wd_tls_credentials_free(credentials);
}

static void tls_12_is_a_setting_and_judged_alike(void **state)
{
    wd_pem_pair good, odd = {NULL, NULL};
    uint8_t greeting[8];
    gate_fixture g;
    raw_peer peer;

    (void)state;
    gate_start(&g, (wd_tls_options){0}, NULL);
    good_issue(g.ca, TEST_CLIENT, &good);
    odd_issue(g.ca, &(odd_spec){.no_uri = true}, &odd);
    assert_int_not_equal(raw_connect_12(&peer, g.port, &good), 0);
    raw_close(&peer);
    assert_int_equal(log_wait_reject(&g.log, 1).cause, WD_TLS_PROTOCOL);
    allow_tls_12(&g);
    assert_int_equal(raw_connect_12(&peer, g.port, &odd), 0);
    assert_int_equal(raw_read(&peer, greeting, 8, 5000), -1042);
    raw_close(&peer);
    assert_int_equal(log_wait_reject(&g.log, 2).cause, WD_TLS_NO_SAN);
    assert_int_equal(raw_connect_12(&peer, g.port, &good), 0);
    assert_int_equal(raw_read(&peer, greeting, 8, 5000), 8);
    raw_write(&peer, "\0SP\0\0\x30\0\0", 8);
    while (log_pipes(&g.log) == 0) /* NNG may lose one that ends in its greeting */
        nng_msleep(1);
    raw_close(&peer);
    wd_pem_pair_done(&good);
    wd_pem_pair_done(&odd);
    gate_stop(&g);
}

static wd_status nobody(void *arg, const wd_identity *peer, wd_error *err)
{
    (void)arg;
    return wd_fail(err, WD_PERMISSION_DENIED, "not %s", peer->parsed.name);
}

static void the_owner_may_refuse_too(void **state)
{
    wd_pem_pair pair;
    gate_fixture g;

    (void)state;
    gate_start(&g, (wd_tls_options){.check_peer = nobody}, NULL);
    good_issue(g.ca, TEST_CLIENT, &pair);
    expect_refusal(&g, &pair, WD_TLS_DENIED, "owner");
    assert_string_equal(g.log.rejects[0].detail, "not trainer");
    wd_pem_pair_done(&pair);
    gate_stop(&g);
}

/* This process plays the sandboxed one: its uid is in the slots' range. */
static void claim_10_sandboxed_code_is_refused_with_good_credentials(void **state)
{
    wd_pem_pair pair;
    gate_fixture g;

    (void)state;
    gate_start(&g, (wd_tls_options){.uid_base = geteuid(), .uid_count = 1}, NULL);
    good_issue(g.ca, TEST_CLIENT, &pair);
    expect_refusal(&g, &pair, WD_TLS_SLOT_UID, "slot");
    expect_no_byte_read(&g);
    wd_pem_pair_done(&pair);
    gate_stop(&g);
}

static void claim_10_uids_beside_the_slots_pass(void **state)
{
    const uint32_t bases[] = {geteuid() + 1, geteuid() - 8};
    gate_fixture g;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        wd_pem_pair pair;
        raw_peer peer;
        uint8_t greeting[8];

        gate_start(&g, (wd_tls_options){.uid_base = bases[i], .uid_count = 8}, NULL);
        good_issue(g.ca, TEST_CLIENT, &pair);
        assert_int_equal(raw_connect(&peer, g.port, &pair), 0);
        assert_int_equal(raw_read(&peer, greeting, 8, 5000), 8);
        assert_memory_equal(greeting, "\0SP\0\0\x31\0\0", 8);
        raw_close(&peer);
        wd_pem_pair_done(&pair);
        gate_stop(&g);
    }
}

static bool no_descriptor; /* wd_peer_find finds none for its question */

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's */
wd_status __real_wd_peer_find(const struct sockaddr *peer, const struct sockaddr *own,
                              wd_peer_origin *ret, uint32_t *ret_uid, wd_error *err);
wd_status __wrap_wd_peer_find(const struct sockaddr *peer, const struct sockaddr *own,
                              wd_peer_origin *ret, uint32_t *ret_uid, wd_error *err);

wd_status __wrap_wd_peer_find(const struct sockaddr *peer, const struct sockaddr *own,
                              wd_peer_origin *ret, uint32_t *ret_uid, wd_error *err)
{
    if (no_descriptor)
        return wd_fail(err, WD_UNAVAILABLE, "Too many open files");
    return __real_wd_peer_find(peer, own, ret, ret_uid, err);
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

/* It is let in no more than others, but hears nothing ill of its certificate. */
static void claim_03_who_cannot_be_judged_for_want_of_descriptors(void **state)
{
    wd_pem_pair pair;
    gate_fixture g;
    wd_tls_reject reject;
    raw_peer peer;
    uint8_t byte;

    (void)state;
    gate_start(&g, (wd_tls_options){.uid_base = geteuid() + 1, .uid_count = 8}, NULL);
    good_issue(g.ca, TEST_CLIENT, &pair);
    no_descriptor = true;
    (void)raw_connect(&peer, g.port, &pair);
    assert_true(raw_read(&peer, &byte, 1, 5000) <= 0);
    reject = log_wait_reject(&g.log, 1);
    no_descriptor = false;
    assert_string_equal(wd_tls_cause_name(reject.cause), "resources");
    assert_int_equal(reject.alert, 0);
    assert_string_equal(reject.detail, "Too many open files");
    expect_no_byte_read(&g);
    raw_close(&peer);
    wd_pem_pair_done(&pair);
    gate_stop(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_04_odd_certificates_are_refused_by_cause),
        cmocka_unit_test(claim_04_foreign_cas_are_refused_by_cause),
        cmocka_unit_test(claim_04_no_certificate_is_refused),
        cmocka_unit_test(claim_04_plain_text_is_refused),
        cmocka_unit_test(denied_names_are_refused),
        cmocka_unit_test(tls_12_is_a_setting_and_judged_alike),
        cmocka_unit_test(the_owner_may_refuse_too),
        cmocka_unit_test(claim_10_sandboxed_code_is_refused_with_good_credentials),
        cmocka_unit_test(claim_10_uids_beside_the_slots_pass),
        cmocka_unit_test(claim_03_who_cannot_be_judged_for_want_of_descriptors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
