/* An mbedTLS that lacks what we need. */
#include <string.h>

#include "check.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_04_an_mbedtls_without_threads_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
