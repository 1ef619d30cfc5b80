/* Signatures of a gate's key: whoever has its certificate can tell. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "odd_certs.h"
#include "proto/tls/credentials.h"
#include "proto/tls/sign.h"

#define TEXT "warded-audit x\n1\n"

typedef struct signing {
    wd_ca *ca;
    wd_tls_credentials *credentials;
    char *pem;
    char key_id[WD_KEY_ID_BYTES];
    uint8_t signature[WD_SIGNATURE_BYTES];
    size_t size;
} signing;

static wd_tls_credentials *credentials_of(const wd_ca *ca)
{
    wd_tls_credentials *made = NULL;
    wd_pem_pair pair = {NULL, NULL};
    wd_error err;
    const wd_leaf_spec spec = {.uri = TEST_CLIENT,
                               .not_before_ms = test_now_ms() - 1000,
                               .not_after_ms = test_now_ms() + TEST_DAY_MS};

    OK(wd_ca_issue(ca, &spec, &pair, &err), err);
    const wd_tls_pem pem = {.ca = wd_ca_pem(ca), .cert = pair.cert, .key = pair.key};
    OK(wd_tls_credentials_make(&pem, &made, &err), err);
    wd_pem_pair_done(&pair);
    return made;
}

static int sign_it(void **state)
{
    signing *s = calloc(1, sizeof *s);
    wd_error err;

    s->ca = test_ca("Test CA");
    s->credentials = credentials_of(s->ca);
    wd_tls_key_id(s->credentials, s->key_id);
    OK(wd_tls_certificate_pem(s->credentials, &s->pem, &err), err);
    const wd_span text = {(const uint8_t *)TEXT, strlen(TEXT)};
    OK(wd_tls_sign(s->credentials, text, s->signature, &s->size, &err), err);
    *state = s;
    return 0;
}

static int drop_it(void **state)
{
    signing *s = *state;

    wd_tls_credentials_free(s->credentials);
    wd_ca_free(s->ca);
    free(s->pem);
    free(s);
    return 0;
}

static wd_tls_signed what_of(const signing *s)
{
    return (wd_tls_signed){.text = {(const uint8_t *)TEXT, strlen(TEXT)},
                           .signature = {s->signature, s->size},
                           .key_id = s->key_id,
                           .uri = TEST_CLIENT};
}

static void a_signature_is_checked_with_the_certificate(void **state)
{
    const signing *s = *state;
    const wd_tls_signed what = what_of(s);
    wd_error err;

    OK(wd_tls_signed_check(s->pem, NULL, &what, &err), err);
    OK(wd_tls_signed_check(s->pem, wd_ca_pem(s->ca), &what, &err), err);
    assert_int_equal(strspn(s->key_id, "0123456789abcdef"), 16);
}

static void each_flipped_byte_of_text_or_signature_is_found(void **state)
{
    signing *s = *state;
    char text[] = TEXT;
    wd_tls_signed what = what_of(s);

    for (size_t i = 0; i < s->size; i++) {
        s->signature[i] ^= 1;
        REFUSED(wd_tls_signed_check(s->pem, NULL, &what, NULL), WD_DATA_LOSS);
        s->signature[i] ^= 1;
    }
    what.text.data = (const uint8_t *)text;
    for (size_t i = 0; i < strlen(TEXT); i++) {
        text[i] ^= 1;
        REFUSED(wd_tls_signed_check(s->pem, NULL, &what, NULL), WD_DATA_LOSS);
        text[i] ^= 1;
    }
    what.signature.size--;
    REFUSED(wd_tls_signed_check(s->pem, NULL, &what, NULL), WD_DATA_LOSS);
}

static void a_signature_of_another_is_refused(void **state)
{
    const signing *s = *state;
    WD_AUTO(wd_ca) *other_ca = test_ca("Other CA");
    WD_AUTO(wd_tls_credentials) *other = credentials_of(s->ca);
    WD_AUTO(wd_text) *other_pem = NULL;
    char other_id[WD_KEY_ID_BYTES];
    wd_tls_signed what = what_of(s);
    wd_error err;

    wd_tls_key_id(other, other_id);
    OK(wd_tls_certificate_pem(other, &other_pem, &err), err);
    REFUSED(wd_tls_signed_check(other_pem, NULL, &what, NULL), WD_DATA_LOSS);
    REFUSED(wd_tls_signed_check(s->pem, wd_ca_pem(other_ca), &what, NULL),
            WD_DATA_LOSS);
    REFUSED(wd_tls_signed_check("no certificate", NULL, &what, NULL), WD_DATA_LOSS);
    what.uri = TEST_CLIENT "2";
    REFUSED(wd_tls_signed_check(s->pem, NULL, &what, NULL), WD_DATA_LOSS);
    what = what_of(s);
    what.key_id = other_id;
    REFUSED(wd_tls_signed_check(s->pem, NULL, &what, NULL), WD_DATA_LOSS);
    REFUSED(wd_tls_signed_check(other_pem, NULL, &what, NULL), WD_DATA_LOSS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_signature_is_checked_with_the_certificate,
                                        sign_it, drop_it),
        cmocka_unit_test_setup_teardown(each_flipped_byte_of_text_or_signature_is_found,
                                        sign_it, drop_it),
        cmocka_unit_test_setup_teardown(a_signature_of_another_is_refused, sign_it,
                                        drop_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
