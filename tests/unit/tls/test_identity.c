#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "odd_certs.h"
#include "proto/tls/deny.h"
#include "proto/tls/identity.h"
#include "proto/tls/oid.h"

#define ENDPOINTS "gate.example:7443 10.0.0.1:7443"

/* A good certificate with all facts, and where it came from. */
typedef struct sample {
    wd_ca *ca;
    uint8_t *der;
    size_t size;
} sample;

static wd_leaf_spec full_spec(void)
{
    static const char *const dns[] = {"gate.example", "localhost"};
    static const char *const ips[] = {"127.0.0.1", "::1"};

    return (wd_leaf_spec){
        .uri = TEST_GATE,
        .not_before_ms = 1735689600000, /* 2025-01-01 */
        .not_after_ms = 2556144000000,  /* 2051-01-01: a GeneralizedTime */
        .dns = dns,
        .n_dns = 2,
        .ips = ips,
        .n_ips = 2,
        .fact = {[WD_FACT_CREATOR] = TEST_CLIENT,
                 [WD_FACT_NAMESPACE] = "default",
                 [WD_FACT_POOL] = "p1",
                 [WD_FACT_ENDPOINT] = ENDPOINTS,
                 [WD_FACT_HOST_ID] = "host-1",
                 [WD_FACT_ASSERTED_BY] = "warded init"},
    };
}

static int make_sample(void **state)
{
    sample *s = calloc(1, sizeof *s);
    wd_leaf_spec spec = full_spec();
    wd_pem_pair pair;
    wd_error err;

    s->ca = test_ca("Test CA");
    OK(wd_ca_issue(s->ca, &spec, &pair, &err), err);
    s->der = test_der(pair.cert, &s->size);
    wd_pem_pair_done(&pair);
    *state = s;
    return 0;
}

static int drop_sample(void **state)
{
    sample *s = *state;

    wd_ca_free(s->ca);
    free(s->der);
    free(s);
    return 0;
}

static void a_certificate_tells_everything(void **state)
{
    const sample *s = *state;
    wd_identity id;
    wd_tls_cause cause;
    wd_error err;

    OK(wd_identity_read_cause((wd_span){s->der, s->size}, &id, &cause, &err), err);
    assert_int_equal(cause, WD_TLS_NONE);
    assert_string_equal(id.uri, TEST_GATE);
    assert_int_equal(id.parsed.kind, WD_SPIFFE_GATE);
    assert_string_equal(id.parsed.owner, "ann");
    assert_int_equal(strlen(id.serial), 32);
    assert_int_equal(id.not_before_ms, 1735689600000);
    assert_int_equal(id.not_after_ms, 2556144000000);
    assert_string_equal(id.fact[WD_FACT_CREATOR], TEST_CLIENT);
    assert_string_equal(id.fact[WD_FACT_ENDPOINT], ENDPOINTS);
    assert_string_equal(id.fact[WD_FACT_ASSERTED_BY], "warded init");
    assert_string_equal(id.fact[WD_FACT_IMAGE], "");
}

static void every_prefix_is_refused(void **state)
{
    const sample *s = *state;
    wd_identity id;

    for (size_t n = 0; n < s->size; n++) {
        uint8_t *copy = malloc(n + 1); /* ASan sees a read past its end */
        memcpy(copy, s->der, n);
        REFUSED(wd_identity_read((wd_span){copy, n}, &id, NULL), WD_INVALID_ARGUMENT);
        free(copy);
    }
}

static void a_trailing_byte_is_refused(void **state)
{
    const sample *s = *state;
    uint8_t *copy = calloc(1, s->size + 1);
    wd_identity id;
    wd_tls_cause cause;

    memcpy(copy, s->der, s->size);
    REFUSED(wd_identity_read_cause((wd_span){copy, s->size + 1}, &id, &cause, NULL),
            WD_INVALID_ARGUMENT);
    assert_int_equal(cause, WD_TLS_UNREADABLE);
    free(copy);
}

/* Harmless: refused, or an identity whose every text ends in a NUL. (Whether it is
 * *true* is the signature's affair.) */
static void every_flipped_byte_is_harmless(void **state)
{
    const sample *s = *state;
    uint8_t *copy = malloc(s->size);
    wd_identity id;

    for (size_t i = 0; i < s->size; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            memcpy(copy, s->der, s->size);
            copy[i] = (uint8_t)(copy[i] ^ (1U << bit));
            if (wd_identity_read((wd_span){copy, s->size}, &id, NULL) != WD_OK) {
                assert_int_equal(id.uri[0], '\0');
                continue;
            }
            assert_true(strnlen(id.uri, sizeof id.uri) < sizeof id.uri);
            assert_true(strnlen(id.serial, sizeof id.serial) < sizeof id.serial);
            for (size_t n = 1; n <= WD_FACT_COUNT; n++)
                assert_true(strnlen(id.fact[n], WD_FACT_BYTES) < WD_FACT_BYTES);
        }
    free(copy);
}

/* Where `needle` is in the sample. */
static size_t find(const sample *s, const void *needle, size_t size)
{
    const uint8_t *at = memmem(s->der, s->size, needle, size);

    assert_non_null(at);
    return (size_t)(at - s->der);
}

static void a_fact_twice_is_refused(void **state)
{
    const sample *s = *state;
    size_t arc = WD_OID_SIZE(WD_OID_FACTS);
    uint8_t *copy = malloc(s->size);
    char pool[32];
    wd_identity id;
    wd_tls_cause cause;

    memcpy(pool, WD_OID_FACTS, arc);
    pool[arc] = WD_FACT_POOL;
    memcpy(copy, s->der, s->size);
    copy[find(s, pool, arc + 1) + arc] = WD_FACT_HOST_ID; /* .5 becomes a second .7 */
    REFUSED(wd_identity_read_cause((wd_span){copy, s->size}, &id, &cause, NULL),
            WD_INVALID_ARGUMENT);
    assert_int_equal(cause, WD_TLS_BAD_FACT);
    free(copy);
}

static void a_second_alternative_name_extension_is_refused(void **state)
{
    const sample *s = *state;
    uint8_t *copy = malloc(s->size);
    wd_identity id;
    wd_tls_cause cause;

    memcpy(copy, s->der, s->size);
    copy[find(s, "\x55\x1d\x23", 3) + 2] = 0x11; /* the authority key id's OID */
    REFUSED(wd_identity_read_cause((wd_span){copy, s->size}, &id, &cause, NULL),
            WD_INVALID_ARGUMENT);
    assert_int_equal(cause, WD_TLS_BAD_SAN);
    free(copy);
}

/* openssl's own writing of 2.25.187663191962772120820425601056173538086 */
static void the_arc_is_encoded_as_x660_says(void **state)
{
    static const uint8_t arc[] = {0x69, 0x82, 0x9a, 0xae, 0xce, 0xed, 0xfa,
                                  0x88, 0xf2, 0x8d, 0x91, 0x9f, 0xce, 0x84,
                                  0x9e, 0x97, 0xa4, 0xc4, 0xf6, 0x26};

    (void)state;
    assert_int_equal(WD_OID_SIZE(WD_OID_FACTS), sizeof arc);
    assert_memory_equal(WD_OID_FACTS, arc, sizeof arc);
}

typedef struct odd_case {
    const char *name;
    odd_spec spec;
    wd_tls_cause cause;
} odd_case;

static void expect_cause(const wd_ca *ca, const odd_case *c)
{
    wd_pem_pair pair;
    wd_identity id;
    wd_tls_cause cause;
    size_t size;
    uint8_t *der;

    odd_issue(ca, &c->spec, &pair);
    der = test_der(pair.cert, &size);
    (void)!wd_identity_read_cause((wd_span){der, size}, &id, &cause, NULL);
    if (cause != c->cause)
        fail_msg("%s: %s", c->name, wd_tls_cause_name(cause));
    free(der);
    wd_pem_pair_done(&pair);
}

static void names_of_other_forms_are_refused_by_cause(void **state)
{
    static const odd_case cases[] = {
        {"good", {.is_ca = false}, WD_TLS_NONE},
        {"no san", {.no_uri = true}, WD_TLS_NO_SAN},
        {"two uris", {.uri_2 = TEST_GATE}, WD_TLS_MANY_URIS},
        {"two uris, one no spiffe id", {.uri_2 = "http://x"}, WD_TLS_MANY_URIS},
        {"no spiffe id", {.uri = "https://test.example/"}, WD_TLS_BAD_SAN},
        {"upper case", {.uri = "spiffe://T/ns/n/owner/o/client/c"}, WD_TLS_BAD_SAN},
        {"empty uri", {.uri = ""}, WD_TLS_BAD_SAN},
    };
    const sample *s = *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_cause(s->ca, &cases[i]);
}

#define FACT(number, bytes)                                                            \
    {.fact_oid = WD_OID_FACTS number,                                                  \
     .fact_oid_size = WD_OID_SIZE(WD_OID_FACTS) + 1,                                   \
     .fact_der = (bytes),                                                              \
     .fact_der_size = sizeof(bytes) - 1}

static void odd_facts_are_refused(void **state)
{
    static const odd_case cases[] = {
        {"good", FACT("\x01", "\x0c\x01x"), WD_TLS_NONE},
        {"a PrintableString", FACT("\x01", "\x13\x01x"), WD_TLS_BAD_FACT},
        {"with a byte more", FACT("\x01", "\x0c\x01xy"), WD_TLS_BAD_FACT},
        {"with a NUL", FACT("\x01", "\x0c\x02x\0"), WD_TLS_BAD_FACT},
        {"empty", FACT("\x01", "\x0c\0"), WD_TLS_BAD_FACT},
        {"an overlong length", FACT("\x01", "\x0c\x81\x01x"), WD_TLS_BAD_FACT},
        {"a later version's", FACT("\x09", "\x13\x01x"), WD_TLS_NONE},
    };
    const sample *s = *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_cause(s->ca, &cases[i]);
}

static bool denies(const char *text)
{
    const wd_identity peer = {.uri = "spiffe://d/ns/a/owner/b/client/c",
                              .serial = "0a0b"};
    WD_AUTO(wd_deny_list) *list = NULL;
    wd_error err;

    OK(wd_deny_list_parse(text, &list, &err), err);
    return wd_deny_list_has(list, &peer);
}

static void the_deny_list_knows_serials_and_prefixes(void **state)
{
    static const struct {
        const char *text;
        bool denied;
    } cases[] = {
        {"", false},
        {"# nothing\n\n", false},
        {"serial 0a:0B\n", true},
        {"serial 000A0B", true},
        {"serial a0b", true},
        {"serial 0a0c", false},
        {"spiffe://d/ns/a", true},
        {"  spiffe://d/ns/a/ # all of a", true},
        {"spiffe://d/ns/a/owner/b/client/c\n", true},
        {"spiffe://d/ns/a/owner/b/client/", true},
        {"spiffe://d/ns/a/owner/b/client/cc", false},
        {"spiffe://d/ns", true},
        {"spiffe://d", true},
        {"spiffe://d/ns/a/owner", true},
        {"spiffe://d/ns/a/owner/b/client", true},
        {"spiffe://d/ns/a/owner/b/pool/p", false},
        {"spiffe://d/ns/a/owner/b/pool/p/gate/", false},
        {"serial 1111222233334444555566667777888899990000", false}, /* 40 digits */
        {"serial 00001111222233334444555566667777888899990000", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (denies(cases[i].text) != cases[i].denied)
            fail_msg("%s", cases[i].text);
}

static void a_deny_list_with_a_bad_line_names_it(void **state)
{
    static const char *const bad[] = {
        "a\n",
        "\nserial\n",
        "\nserial x",
        "\nspiffe://",
        "\nserial ::",
        "\nserial 0:00",
        "\nserial 11112222333344445555666677778888999900001", /* 41 digits */
        "\nspiffe://D/ns/a",
        "\nspiffe://d/ns/a/owner/b/client/c/",
        "\nspiffe://d//ns/a",
        "\nspiffe://d/owner/b",
        "\nspiffe://d/ns/a/owner/b/clien",
        "\nspiffe://d/ns/a*",
        "\nspiffe://d/ns/a/owner/b/gate/g/x",
        "\nspiffe://d/ns/a/owner/b c",
    };
    wd_deny_list *list = NULL;
    wd_error err;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        REFUSED(wd_deny_list_parse(bad[i], &list, &err), WD_INVALID_ARGUMENT);
        assert_non_null(strstr(err.msg, i == 0 ? "line 1" : "line 2"));
        assert_null(list);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_certificate_tells_everything),
        cmocka_unit_test(every_prefix_is_refused),
        cmocka_unit_test(a_trailing_byte_is_refused),
        cmocka_unit_test(every_flipped_byte_is_harmless),
        cmocka_unit_test(a_fact_twice_is_refused),
        cmocka_unit_test(a_second_alternative_name_extension_is_refused),
        cmocka_unit_test(the_arc_is_encoded_as_x660_says),
        cmocka_unit_test(names_of_other_forms_are_refused_by_cause),
        cmocka_unit_test(odd_facts_are_refused),
        cmocka_unit_test(the_deny_list_knows_serials_and_prefixes),
        cmocka_unit_test(a_deny_list_with_a_bad_line_names_it),
    };

    return cmocka_run_group_tests(tests, make_sample, drop_sample);
}
