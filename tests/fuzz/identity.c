/* The reader of certificates: what it accepts obeys its own rules, and where mbedTLS can
 * read the certificate at all, both see the same in it. */
#include "proto/tls/identity.h"

#include <mbedtls/x509_crt.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

static void check_fact(const char *fact)
{
    FUZZ_CHECK(memchr(fact, '\0', WD_FACT_BYTES) != NULL);
    for (; *fact != '\0'; fact++)
        FUZZ_CHECK(*fact >= 0x20 && *fact <= 0x7e);
}

static void check_rules(const wd_identity *identity)
{
    wd_spiffe again;

    FUZZ_CHECK(wd_spiffe_parse(identity->uri, strlen(identity->uri), &again, NULL) ==
               WD_OK);
    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-*): both were cleared */
    FUZZ_CHECK(memcmp(&again, &identity->parsed, sizeof(again)) == 0);
    FUZZ_CHECK(identity->serial[0] != '\0');
    FUZZ_CHECK(strspn(identity->serial, "0123456789abcdef") ==
               strlen(identity->serial));
    for (size_t i = 0; i <= WD_FACT_COUNT; i++)
        check_fact(identity->fact[i]);
}

/* Days from 1970 to a date of the Gregorian calendar. */
static int64_t days_to(int year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int64_t ms_of(const mbedtls_x509_time *t)
{
    int64_t seconds = t->hour * 3600 + t->min * 60 + t->sec;
    return (days_to(t->year, t->mon, t->day) * 86400 + seconds) * 1000;
}

static size_t count_uris(const mbedtls_x509_crt *crt)
{
    size_t n = 0;

    for (const mbedtls_x509_sequence *name = &crt->subject_alt_names;
         name != NULL && name->buf.p != NULL; name = name->next)
        n += (name->buf.tag & 0x1f) == 6;
    return n;
}

static void check_serial(const mbedtls_x509_buf *serial, const char *ours)
{
    static const char digits[] = "0123456789abcdef";
    size_t at = serial->len > 1 && serial->p[0] == 0 && serial->p[1] >= 0x80;

    FUZZ_CHECK(strlen(ours) == 2 * (serial->len - at));
    for (; at < serial->len; at++, ours += 2) {
        FUZZ_CHECK(ours[0] == digits[serial->p[at] >> 4]);
        FUZZ_CHECK(ours[1] == digits[serial->p[at] & 15]);
    }
}

static void check_mbedtls_agrees(wd_span der, const wd_identity *identity)
{
    mbedtls_x509_crt crt;

    mbedtls_x509_crt_init(&crt);
    if (mbedtls_x509_crt_parse_der(&crt, der.data, der.size) == 0) {
        check_serial(&crt.serial, identity->serial);
        FUZZ_CHECK(ms_of(&crt.valid_from) == identity->not_before_ms);
        FUZZ_CHECK(ms_of(&crt.valid_to) == identity->not_after_ms);
        FUZZ_CHECK(count_uris(&crt) == 1);
    }
    mbedtls_x509_crt_free(&crt);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const wd_identity cleared;
    static wd_identity identity;
    wd_tls_cause cause = WD_TLS_RESOURCES;
    wd_error err = {.status = WD_OK};
    wd_span der = {data, size};
    wd_status status = wd_identity_read_cause(der, &identity, &cause, &err);

    if (status != WD_OK) {
        FUZZ_CHECK(status == WD_INVALID_ARGUMENT);
        fuzz_check_error(status, &err);
        FUZZ_CHECK(cause != WD_TLS_NONE);
        /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-*): all zero */
        FUZZ_CHECK(memcmp(&identity, &cleared, sizeof(identity)) == 0);
        return 0;
    }
    FUZZ_CHECK(cause == WD_TLS_NONE);
    check_rules(&identity);
    check_mbedtls_agrees(der, &identity);
    return 0;
}
