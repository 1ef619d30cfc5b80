/* The engine between two NNG sockets, and between NNG and others. */
#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>
#include <nng/supplemental/tls/engine.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "gate_fixture.h"
#include "raw_peer.h"

/* A gate and one client's binding. */
typedef struct pair_fixture {
    gate_fixture gate;
    wd_tls_credentials *credentials;
    wd_tls_binding *binding;
    event_log log;
} pair_fixture;

static void pair_start(pair_fixture *f, wd_tls_options client)
{
    wd_error err;

    gate_start(&f->gate, (wd_tls_options){0}, NULL);
    log_open(&f->log);
    client.on_reject = log_on_reject;
    client.on_accept = log_on_accept;
    client.arg = &f->log;
    f->credentials = client_credentials(f->gate.ca, TEST_CLIENT);
    OK(wd_tls_binding_new(&client, f->credentials, &f->binding, &err), err);
}

static void pair_stop(pair_fixture *f)
{
    wd_tls_binding_free(f->binding);
    wd_tls_credentials_free(f->credentials);
    log_close(&f->log);
    gate_stop(&f->gate);
}

static void requests_and_replies_pass(void **state)
{
    const size_t sizes[] = {0, 1, 200, 16308, 16309, 70000, 3 << 20};
    pair_fixture f;
    nng_socket req;

    (void)state;
    pair_start(&f, (wd_tls_options){0});
    assert_int_equal(client_dial(f.binding, f.gate.port, &req), 0);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        echo_once(req, f.gate.rep, sizes[i]);
    assert_int_equal(nng_close(req), 0);
    pair_stop(&f);
}

/* The peer may have a record before its writer has counted it. */
static void wait_written(wd_tls_binding *binding, uint64_t bytes, wd_tls_stats *ret)
{
    for (int i = 0; i < 5000; i++) {
        wd_tls_binding_stats(binding, ret);
        if (ret->bytes_written == bytes)
            return;
        nng_msleep(1);
    }
    assert_int_equal(ret->bytes_written, bytes);
}

static void a_message_is_one_record(void **state)
{
    enum { MESSAGE = 8 + 4 + 200 };
    pair_fixture f;
    nng_socket req;
    wd_tls_stats before, after;

    (void)state;
    pair_start(&f, (wd_tls_options){0});
    assert_int_equal(client_dial(f.binding, f.gate.port, &req), 0);
    echo_once(req, f.gate.rep, 200);
    wait_written(f.gate.binding, 8 + MESSAGE, &before);
    for (int i = 0; i < 10; i++)
        echo_once(req, f.gate.rep, 200);
    wait_written(f.gate.binding, 8 + 11 * MESSAGE, &after);
    assert_int_equal(after.records_written - before.records_written, 10);
    assert_int_equal(after.bytes_read - before.bytes_read, 10 * MESSAGE);
    assert_int_equal(nng_close(req), 0);
    pair_stop(&f);
}

static void the_identity_reaches_the_pipe(void **state)
{
    pair_fixture f;
    nng_socket req;

    (void)state;
    pair_start(&f, (wd_tls_options){0});
    assert_int_equal(client_dial(f.binding, f.gate.port, &req), 0);
    echo_once(req, f.gate.rep, 1);
    assert_int_equal(log_pipes(&f.gate.log), 1);
    assert_string_equal(f.gate.log.pipe_peer.uri, TEST_CLIENT);
    assert_memory_equal(&f.gate.log.pipe_peer, &f.gate.log.accepted,
                        sizeof(wd_identity));
    assert_memory_equal(f.gate.log.pipe_peer.cert_sha256,
                        wd_tls_credentials_identity(f.credentials)->cert_sha256, 32);
    assert_string_equal(f.gate.log.pipe_peer.serial,
                        wd_tls_credentials_identity(f.credentials)->serial);
    assert_string_equal(f.log.accepted.uri, TEST_GATE);
    assert_int_equal(nng_close(req), 0);
    pair_stop(&f);
}

static void a_pipe_that_is_no_more_has_no_identity(void **state)
{
    wd_identity id;
    nng_pipe none = NNG_PIPE_INITIALIZER;

    (void)state;
    REFUSED(wd_tls_pipe_identity(none, &id, NULL), WD_NOT_FOUND);
}

static wd_status not_this_gate(void *arg, const wd_identity *peer, wd_error *err)
{
    (void)arg;
    return wd_refuse(err, WD_REASON_HOST_NOT_ADOPTED, "expected g2, saw %s",
                     peer->parsed.name);
}

static void claim_06_an_impostor_gets_no_byte(void **state)
{
    pair_fixture f;
    nng_socket req;
    wd_tls_reject reject;
    wd_tls_stats stats;

    (void)state;
    pair_start(&f, (wd_tls_options){.check_peer = not_this_gate});
    assert_int_equal(client_dial(f.binding, f.gate.port, &req), NNG_EPEERAUTH);
    reject = log_wait_reject(&f.log, 1);
    assert_int_equal(reject.cause, WD_TLS_DENIED);
    assert_string_equal(reject.detail, "expected g2, saw g1");
    (void)log_wait_reject(&f.gate.log, 1);
    assert_int_equal(log_accepts(&f.gate.log),
                     0); /* not even our certificate got there */
    wd_tls_binding_stats(f.binding, &stats);
    assert_int_equal(stats.bytes_written, 0);
    wd_tls_binding_stats(f.gate.binding, &stats);
    assert_int_equal(stats.bytes_read, 0);
    assert_int_equal(nng_close(req), 0);
    pair_stop(&f);
}

static void claim_06_a_gate_of_another_ca_gets_no_byte(void **state)
{
    WD_AUTO(wd_ca) *other = test_ca("Other CA");
    WD_AUTO(wd_tls_credentials) *credentials = client_credentials(other, TEST_CLIENT);
    pair_fixture f;
    nng_socket req;
    wd_tls_stats stats;

    (void)state;
    pair_start(&f, (wd_tls_options){0});
    wd_tls_binding_swap(f.binding, credentials);
    assert_int_equal(client_dial(f.binding, f.gate.port, &req), NNG_EPEERAUTH);
    assert_int_equal(log_wait_reject(&f.log, 1).cause, WD_TLS_UNKNOWN_CA);
    wd_tls_binding_stats(f.binding, &stats);
    assert_int_equal(stats.bytes_written, 0);
    assert_int_equal(nng_close(req), 0);
    pair_stop(&f);
}

static void note_up(nng_pipe pipe, nng_pipe_ev event, void *arg)
{
    (void)pipe;
    (void)event;
    atomic_store((atomic_bool *)arg, true);
}

/* NNG 1.10 loses a connection that is closed while its greeting is being taken. */
static void wait_up(const atomic_bool *up)
{
    for (int i = 0; i < 5000 && !atomic_load(up); i++)
        nng_msleep(1);
    assert_true(atomic_load(up));
}

static void a_client_says_nothing_before_it_is_greeted(void **state)
{
    mbedtls_net_context listener;
    pair_fixture f;
    nng_tls_config *config = NULL;
    nng_socket req;
    nng_dialer dialer;
    atomic_bool up = false;
    raw_peer server;
    uint8_t bytes[16];
    char url[64];
    wd_error err;

    (void)state;
    pair_start(&f, (wd_tls_options){0});
    mbedtls_net_init(&listener);
    assert_int_equal(mbedtls_net_bind(&listener, "127.0.0.1", "0", 0), 0);
    (void)snprintf(url, sizeof url, "tls+tcp://127.0.0.1:%d", tcp_port(listener.fd));
    OK(wd_tls_config(f.binding, false, &config, &err), err);
    assert_int_equal(nng_req0_open(&req), 0);
    assert_int_equal(nng_pipe_notify(req, NNG_PIPE_EV_ADD_POST, note_up, &up), 0);
    assert_int_equal(nng_dialer_create(&dialer, req, url), 0);
    assert_int_equal(nng_dialer_set_ptr(dialer, NNG_OPT_TLS_CONFIG, config), 0);
    nng_tls_config_free(config);
    assert_int_equal(nng_dialer_start(dialer, NNG_FLAG_NONBLOCK), 0);
    assert_int_equal(raw_accept(&server, &listener, &f.gate.own), 0);
    assert_int_equal(raw_read(&server, bytes, sizeof bytes, 200), -1);
    raw_write(&server, "\0SP\0\0\x31\0\0", 8);
    assert_int_equal(raw_read(&server, bytes, sizeof bytes, 5000), 8);
    assert_memory_equal(bytes, "\0SP\0\0\x30\0\0", 8);
    wait_up(&up);
    assert_int_equal(nng_close(req), 0);
    raw_close(&server);
    mbedtls_net_free(&listener);
    pair_stop(&f);
}

static void a_refused_client_hears_why(void **state)
{
    pair_fixture f;
    nng_socket req;
    wd_tls_reject reject;
    wd_tls_pem pem;
    wd_tls_credentials *denying = NULL;
    wd_error err;

    (void)state;
    pair_start(&f, (wd_tls_options){0});
    pem = gate_pem(&f.gate, "spiffe://test.example");
    OK(wd_tls_credentials_make(&pem, &denying, &err), err);
    wd_tls_binding_swap(f.gate.binding, denying);
    wd_tls_credentials_free(denying);
    assert_int_equal(client_dial(f.binding, f.gate.port, &req), NNG_EPEERAUTH);
    reject = log_wait_reject(&f.log, 1);
    assert_int_equal(reject.cause, WD_TLS_PEER_ALERT);
    assert_int_equal(reject.alert, wd_tls_cause_alert(WD_TLS_DENIED));
    assert_int_equal(nng_close(req), 0);
    pair_stop(&f);
}

static void reload_drops_nobody(void **state)
{
    WD_AUTO(wd_tls_credentials) *other_client = NULL;
    WD_AUTO(wd_tls_credentials) *other_gate = NULL;
    WD_AUTO(wd_ca) *other = test_ca("Second CA");
    pair_fixture f;
    nng_socket before, after;

    (void)state;
    other_client = client_credentials(other, TEST_CLIENT);
    pair_start(&f, (wd_tls_options){0});
    assert_int_equal(client_dial(f.binding, f.gate.port, &before), 0);
    echo_once(before, f.gate.rep, 10);
    other_gate = gate_credentials(other);
    wd_tls_binding_swap(f.gate.binding, other_gate);
    echo_once(before, f.gate.rep, 10); /* the old connection goes on */
    assert_int_equal(client_dial(f.binding, f.gate.port, &after), NNG_EPEERAUTH);
    assert_int_equal(nng_close(after), 0);
    wd_tls_binding_swap(f.binding, other_client);
    assert_int_equal(client_dial(f.binding, f.gate.port, &after), 0);
    echo_once(before, f.gate.rep, 10);
    assert_int_equal(nng_close(before), 0);
    echo_once(after, f.gate.rep, 10);
    assert_int_equal(nng_close(after), 0);
    pair_stop(&f);
}

static void the_deny_list_counts_for_calls_too(void **state)
{
    pair_fixture f;
    wd_tls_pem pem;
    wd_tls_credentials *denying = NULL;
    wd_error err;

    (void)state;
    pair_start(&f, (wd_tls_options){0});
    pem = gate_pem(&f.gate, "spiffe://test.example/ns/default");
    assert_false(
        wd_tls_denied(f.gate.binding, wd_tls_credentials_identity(f.credentials)));
    OK(wd_tls_credentials_make(&pem, &denying, &err), err);
    wd_tls_binding_swap(f.gate.binding, denying);
    wd_tls_credentials_free(denying);
    assert_true(
        wd_tls_denied(f.gate.binding, wd_tls_credentials_identity(f.credentials)));
    pair_stop(&f);
}

/* Somebody else's TLS in this process: NNG's own functions, certificates without any
 * SPIFFE id; and no identity of ours comes of it. */
static void other_configurations_pass_through(void **state)
{
    pair_fixture f;
    nng_tls_config *server = NULL, *client = NULL;
    nng_socket rep, req;
    nng_listener listener;
    nng_dialer dialer;
    wd_pem_pair plain = {NULL, NULL};
    char url[64];
    int port;

    (void)state;
    pair_start(&f, (wd_tls_options){0});
    odd_issue(f.gate.ca, &(odd_spec){.no_uri = true, .server_only = true}, &plain);
    assert_int_equal(nng_tls_config_alloc(&server, NNG_TLS_MODE_SERVER), 0);
    assert_int_equal(nng_tls_config_own_cert(server, plain.cert, plain.key, NULL), 0);
    assert_int_equal(nng_rep0_open(&rep), 0);
    assert_int_equal(nng_socket_set_ms(rep, NNG_OPT_RECVTIMEO, 5000), 0);
    assert_int_equal(nng_listener_create(&listener, rep, "tls+tcp://127.0.0.1:0"), 0);
    assert_int_equal(nng_listener_set_ptr(listener, NNG_OPT_TLS_CONFIG, server), 0);
    assert_int_equal(nng_listener_start(listener, 0), 0);
    assert_int_equal(nng_listener_get_int(listener, NNG_OPT_TCP_BOUND_PORT, &port), 0);
    (void)snprintf(url, sizeof url, "tls+tcp://127.0.0.1:%d", port);
    assert_int_equal(nng_tls_config_alloc(&client, NNG_TLS_MODE_CLIENT), 0);
    assert_int_equal(nng_tls_config_ca_chain(client, wd_ca_pem(f.gate.ca), NULL), 0);
    assert_int_equal(nng_tls_config_server_name(client, "odd"), 0); /* by its CN */
    assert_int_equal(nng_req0_open(&req), 0);
    assert_int_equal(nng_socket_set_ms(req, NNG_OPT_RECVTIMEO, 5000), 0);
    assert_int_equal(nng_dialer_create(&dialer, req, url), 0);
    assert_int_equal(nng_dialer_set_ptr(dialer, NNG_OPT_TLS_CONFIG, client), 0);
    assert_int_equal(nng_dialer_start(dialer, 0), 0);
    echo_once(req, rep, 100000);
    assert_int_equal(nng_close(req), 0);
    assert_int_equal(nng_close(rep), 0);
    nng_tls_config_free(server);
    nng_tls_config_free(client);
    wd_pem_pair_done(&plain);
    assert_int_equal(log_accepts(&f.gate.log), 0);
    pair_stop(&f);
}

static void claim_04_another_engine_is_noticed(void **state)
{
    static const nng_tls_engine foreign = {.version = NNG_TLS_ENGINE_VERSION,
                                           .name = "foreign",
                                           .description = "somebody else's"};
    WD_AUTO(wd_tls_credentials) *credentials = NULL;
    WD_AUTO(wd_ca) *ca = test_ca("Test CA");
    const wd_tls_options none = {0};
    wd_tls_binding *binding = NULL;
    wd_error err;

    (void)state;
    credentials = client_credentials(ca, TEST_CLIENT);
    OK(wd_tls_register(&err), err);
    assert_int_equal(nng_tls_engine_register(&foreign), 0);
    REFUSED(wd_tls_registered(&err), WD_FAILED_PRECONDITION);
    assert_non_null(strstr(err.msg, "'foreign'"));
    REFUSED(wd_tls_binding_new(&none, credentials, &binding, &err),
            WD_FAILED_PRECONDITION);
    OK(wd_tls_register(&err), err);
    OK(wd_tls_registered(&err), err);
}

static void expired_credentials_are_found_before_the_start(void **state)
{
    WD_AUTO(wd_tls_credentials) *credentials = NULL;
    WD_AUTO(wd_ca) *ca = test_ca("Test CA");
    const odd_spec old = {.from_ms = test_now_ms() - 3 * TEST_DAY_MS,
                          .to_ms = test_now_ms() - TEST_DAY_MS};
    wd_pem_pair pair = {NULL, NULL};
    wd_tls_pem pem;
    wd_error err;

    (void)state;
    odd_issue(ca, &old, &pair);
    pem = (wd_tls_pem){wd_ca_pem(ca), pair.cert, pair.key, NULL, false, NULL};
    OK(wd_tls_credentials_make(&pem, &credentials, &err), err);
    REFUSED(wd_tls_credentials_check(credentials, false, &err), WD_FAILED_PRECONDITION);
    assert_non_null(strstr(err.msg, "expired"));
    wd_pem_pair_done(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_and_replies_pass),
        cmocka_unit_test(a_message_is_one_record),
        cmocka_unit_test(the_identity_reaches_the_pipe),
        cmocka_unit_test(a_pipe_that_is_no_more_has_no_identity),
        cmocka_unit_test(claim_06_an_impostor_gets_no_byte),
        cmocka_unit_test(claim_06_a_gate_of_another_ca_gets_no_byte),
        cmocka_unit_test(a_client_says_nothing_before_it_is_greeted),
        cmocka_unit_test(a_refused_client_hears_why),
        cmocka_unit_test(reload_drops_nobody),
        cmocka_unit_test(the_deny_list_counts_for_calls_too),
        cmocka_unit_test(other_configurations_pass_through),
        cmocka_unit_test(claim_04_another_engine_is_noticed),
        cmocka_unit_test(expired_credentials_are_found_before_the_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
