/* odd_certs.h - certificates that a CA of ours would never sign, for the tests.
 *
 * Threads: one.  Owns: nothing; results belong to the caller. */
#ifndef WD_TEST_ODD_CERTS_H
#define WD_TEST_ODD_CERTS_H

#include <stdbool.h>

#include "proto/tls/issue.h"

#define TEST_DAY_MS (24LL * 3600 * 1000)
#define TEST_CLIENT "spiffe://test.example/ns/default/owner/ann/client/trainer"
#define TEST_GATE   "spiffe://test.example/ns/default/owner/ann/gate/g1"

/* What differs from a good client's certificate; zero: nothing. */
typedef struct odd_spec {
    const char *uri;   /* NULL: TEST_CLIENT, unless no_uri */
    const char *uri_2; /* a second URI */
    bool no_uri;
    bool p384;
    bool is_ca;
    bool server_only;       /* extended key usage serverAuth */
    bool no_usage;          /* no extended key usage at all */
    bool key_agreement;     /* key usage without digitalSignature */
    int64_t from_ms, to_ms; /* 0: yesterday, tomorrow */
    const char *fact_oid;   /* one more extension: DER content of its OID */
    size_t fact_oid_size;
    const char *fact_der; /* its value, as it is */
    size_t fact_der_size;
} odd_spec;

/* Fails the test when it cannot. */
void odd_issue(const wd_ca *ca, const odd_spec *spec, wd_pem_pair *ret);
void good_issue(const wd_ca *ca, const char *uri, wd_pem_pair *ret);
wd_ca *test_ca(const char *name);

/* Wall clock. */
int64_t test_now_ms(void);

/* The DER of the first certificate in a PEM text; *ret_size its bytes. malloc'd. */
uint8_t *test_der(const char *pem, size_t *ret_size);

#endif
