/* An mbedTLS that lacks what we need. */
#include <string.h>

#include "check.h"
#include "proto/tls/engine.h"
#include "proto/tls/features.h"

static int all_built_in(const char *name)
{
    (void)name;
    return 0;
}

static int no_threads(const char *name)
{
    return strcmp(name, "MBEDTLS_THREADING_C") == 0 ? -1 : 0;
}

static int no_tls_13(const char *name)
{
    return strcmp(name, "MBEDTLS_SSL_PROTO_TLS1_3") == 0 ? -1 : 0;
}

static void claim_04_an_mbedtls_without_threads_is_refused(void **state)
{
    wd_error err;

    (void)state;
    OK(wd_tls_features_check(all_built_in, &err), err);
    REFUSED(wd_tls_features_check(no_threads, &err), WD_FAILED_PRECONDITION);
    assert_string_equal(err.msg,
                        "the mbedTLS that is loaded was built without threads "
                        "(MBEDTLS_THREADING_C); Debian's libmbedtls21 has them all");
    REFUSED(wd_tls_features_check(no_tls_13, &err), WD_FAILED_PRECONDITION);
    assert_non_null(strstr(err.msg, "MBEDTLS_SSL_PROTO_TLS1_3"));
}

/* The linker puts this in the place of the real one where registration asks it.
 * NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming) */
wd_status __wrap_wd_tls_features_check(wd_tls_feature_probe probe, wd_error *err);
wd_status __real_wd_tls_features_check(wd_tls_feature_probe probe, wd_error *err);

static bool lacking; /* as registration sees it */

wd_status __wrap_wd_tls_features_check(wd_tls_feature_probe probe, wd_error *err)
{
    return __real_wd_tls_features_check(lacking ? no_threads : probe, err);
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

static void claim_04_registration_asks_for_the_features(void **state)
{
    wd_error err;

    (void)state;
    lacking = true;
    REFUSED(wd_tls_register(&err), WD_FAILED_PRECONDITION);
    assert_non_null(strstr(err.msg, "MBEDTLS_THREADING_C"));
    lacking = false;
    OK(wd_tls_register(&err), err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_04_an_mbedtls_without_threads_is_refused),
        cmocka_unit_test(claim_04_registration_asks_for_the_features),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
