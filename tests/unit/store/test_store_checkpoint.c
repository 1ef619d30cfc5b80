/* Checkpoints: their text, and what they prove of a trail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/c/sha256.h"
#include "store/checkpointer.h"
#include "tests/unit/store/segments_fixture.h"

#define GATE "spiffe://d/ns/n/owner/o/gate/g"

/* --- a signer whose key is a word ------------------------------------------------- */

static void word_signature(const char *word, wd_span text, uint8_t out[WD_SHA256_BYTES])
{
    wd_hmac_sha256((wd_span){(const uint8_t *)word, strlen(word)}, text, out);
}

static wd_status word_sign(void *arg, wd_span text, uint8_t *ret_signature,
                           size_t *ret_size, wd_error *err)
{
    (void)err;
    word_signature(arg, text, ret_signature);
    *ret_size = WD_SHA256_BYTES;
    return WD_OK;
}

static wd_status word_check(const void *arg, const wd_checkpoint *checkpoint,
                            wd_span text, const char *certificate, wd_error *err)
{
    uint8_t expected[WD_SHA256_BYTES];
    word_signature(arg, text, expected);
    if (certificate == NULL || strcmp(certificate, "a certificate") != 0 ||
        checkpoint->signature_size != sizeof(expected) ||
        memcmp(checkpoint->signature, expected, sizeof(expected)) != 0)
        return wd_fail(err, WD_DATA_LOSS, "another word");
    return WD_OK;
}

static char secret[] = "open sesame";
static const wd_signer signer = {GATE, "0123456789abcdef", "a certificate", word_sign,
                                 secret};
static const wd_checker checker = {word_check, secret};

/* Signs the newest row; its text, to be freed. */
static char *sign_newest(wd_fixture *f)
{
    WD_AUTO(wd_checkpointer) *c = NULL;
    WD_AUTO(wd_reader) *reader = NULL;
    const wd_checkpointer_options options = {.store = f->store, .signer = signer};
    char *text = NULL;
    wd_error err = {0};
    if (wd_checkpointer_start(&options, &c, &err) != WD_OK ||
        wd_checkpointer_now(c, &err) != WD_OK ||
        wd_reader_open(f->dir, NULL, &reader, &err) != WD_OK ||
        wd_checkpoint_find(reader, 0, &text, &err) != WD_OK)
        fail_msg("sign: %s", err.msg);
    return text;
}

static wd_status verify(wd_fixture *f, const wd_audit_range *range,
                        wd_audit_report *report, wd_error *err)
{
    WD_AUTO(wd_reader) *reader = wd_segments_reader(f);
    return wd_audit_verify(reader, range, report, err);
}

static void assert_fault(wd_fixture *f, const char *checkpoint, wd_audit_fault fault,
                         uint64_t seq)
{
    const wd_audit_range range = {.checkpoint = checkpoint, .checker = &checker};
    wd_audit_report report;
    wd_error err = {0};
    wd_status status = verify(f, &range, &report, &err);
    if (report.fault != fault || report.bad_seq != seq ||
        (status == WD_OK) != (fault == WD_AUDIT_SOUND))
        fail_msg("%s at %llu: %s", wd_audit_fault_name(report.fault),
                 (unsigned long long)report.bad_seq, err.msg);
    if (fault != WD_AUDIT_SOUND)
        assert_int_equal(err.reason, WD_REASON_CHAIN_BROKEN);
}

/* --- the text --------------------------------------------------------------------- */

static void claim_08_the_text_of_a_checkpoint_is_as_documented(void **state)
{
    (void)state;
    char text[WD_CHECKPOINT_BYTES];
    wd_checkpoint read;
    const wd_checkpoint what = {.chain_id = "chain",
                                .head = {.seq = 1234, .hash = {0xff, 0xfe}},
                                .signed_ms = 1800000000123};
    assert_int_equal(wd_checkpoint_make(&signer, &what, text, NULL), WD_OK);
    static const char start[] =
        "warded-audit chain\n1234\n//4AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
        "2027-01-15T08:00:00.123Z\n\n\xE2\x80\x94 " GATE " 0123456789abcdef ";
    assert_memory_equal(text, start, sizeof(start) - 1);
    assert_int_equal(wd_checkpoint_parse(text, &read, NULL), WD_OK);
    assert_string_equal(read.chain_id, "chain");
    assert_int_equal(read.head.seq, 1234);
    assert_memory_equal(&read.head, &what.head, sizeof(what.head));
    assert_int_equal(read.signed_ms, 1800000000123);
    assert_string_equal(read.gate, GATE);
    assert_string_equal(read.key_id, "0123456789abcdef");
    assert_int_equal(read.signature_size, WD_SHA256_BYTES);
    const wd_span signed_text = {(const uint8_t *)text, read.signed_size};
    assert_int_equal(word_check(secret, &read, signed_text, "a certificate", NULL),
                     WD_OK);
}

static void every_prefix_and_every_odd_byte_of_a_checkpoint_is_refused(void **state)
{
    (void)state;
    char text[WD_CHECKPOINT_BYTES];
    wd_checkpoint read;
    const wd_checkpoint what = {.chain_id = "chain", .head.seq = 7};
    assert_int_equal(wd_checkpoint_make(&signer, &what, text, NULL), WD_OK);
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i++) {
        char kept = text[i];
        text[i] = '\0';
        assert_int_equal(wd_checkpoint_parse(text, &read, NULL), WD_INVALID_ARGUMENT);
        text[i] = '\x01'; /* what it does not refuse, the signature does */
        if (wd_checkpoint_parse(text, &read, NULL) == WD_OK) {
            const wd_span signed_text = {(const uint8_t *)text, read.signed_size};
            assert_true(i >= read.signed_size ||
                        word_check(secret, &read, signed_text, "a certificate", NULL) !=
                            WD_OK);
        }
        text[i] = kept;
    }
    (void)strlcat(text, "\n", sizeof(text));
    assert_int_equal(wd_checkpoint_parse(text, &read, NULL), WD_INVALID_ARGUMENT);
}

/* --- on the chain ----------------------------------------------------------------- */

static void claim_08_verification_begins_at_any_checkpoint(void **state)
{
    wd_fixture *f = *state;
    wd_audit_report report;
    wd_fixture_fill(f, 10);
    WD_AUTO(wd_text) *first = sign_newest(f);
    wd_segments_seal(f);
    wd_fixture_fill(f, 10);
    WD_AUTO(wd_text) *second = sign_newest(f);
    wd_segments_seal(f);
    wd_fixture_fill(f, 5);
    WD_AUTO(wd_text) *third = sign_newest(f);
    const wd_audit_range all = {.checker = &checker};
    assert_int_equal(verify(f, &all, &report, NULL), WD_OK);
    assert_int_equal(report.rows, 25);
    assert_int_equal(report.n_checkpoints, 3);
    assert_int_equal(report.n_signatures, 2); /* a segment's last, and the newest */
    const struct {
        const char *text;
        uint64_t rows;
    } cases[] = {{first, 16}, {second, 6}, {third, 1}};
    for (size_t i = 0; i < 3; i++) {
        const wd_audit_range range = {.checkpoint = cases[i].text, .checker = &checker};
        wd_error err = {0};
        if (verify(f, &range, &report, &err) != WD_OK)
            fail_msg("%zu: %s", i, err.msg);
        assert_int_equal(report.rows, cases[i].rows);
        assert_int_equal(report.head.seq, 25);
    }
}

static void claim_08_each_manipulation_against_a_checkpoint_has_its_name(void **state)
{
    wd_fixture *f = *state;
    wd_fixture_fill(f, 10);
    WD_AUTO(wd_text) *text = sign_newest(f);
    assert_fault(f, text, WD_AUDIT_SOUND, 0);

    char *other = strdup(text);
    other[13] = other[13] == 'f' ? '0' : 'f'; /* the chain's id */
    assert_fault(f, other, WD_AUDIT_OTHER_CHAIN, 0);
    memcpy(other, text, strlen(text));
    char *when = strstr(other, "Z\n");
    when[-1] = when[-1] == '9' ? '0' : '9'; /* signed at another time */
    assert_fault(f, other, WD_AUDIT_CHECKPOINT_BAD, 10);
    free(other);

    wd_fixture_sql(f,
                   "UPDATE checkpoints SET text = replace(text, '-audit', '-audio')");
    assert_fault(f, NULL, WD_AUDIT_CHECKPOINT_BAD, 0);
    wd_fixture_sql(f,
                   "UPDATE checkpoints SET text = replace(text, '-audio', '-audit')");
    wd_fixture_sql(f, "UPDATE meta SET value = 'x' WHERE name LIKE 'signer:%'");
    assert_fault(f, NULL, WD_AUDIT_CHECKPOINT_BAD, 10);
    wd_fixture_sql(f, "UPDATE meta SET value = 'a certificate'"
                      " WHERE name LIKE 'signer:%'");
    assert_fault(f, NULL, WD_AUDIT_SOUND, 0);

    wd_fixture_sql(f, "DELETE FROM audit WHERE seq > 7"); /* and no witness needed */
    assert_fault(f, NULL, WD_AUDIT_TAIL_CUT, 8);
}

/* A copy of the store goes on by itself: both chains are sound, and bear one name. */
static void claim_08_a_copied_database_that_was_continued_is_a_fork(void **state)
{
    wd_fixture *f = *state;
    wd_fixture copy;
    char command[256];
    wd_fixture_fill(f, 10);
    wd_fixture_close(f);
    wd_fixture_init(&copy);
    (void)snprintf(command, sizeof(command), "cp -a '%s' '%s'", f->dir, copy.dir);
    assert_int_equal(wd_fixture_shell(command), 0);
    wd_fixture_open(f);
    wd_fixture_open(&copy);
    wd_fixture_fill(f, 5);
    atomic_fetch_add(&copy.clock.now_ms, 1);
    wd_fixture_fill(&copy, 8);
    WD_AUTO(wd_text) *ours = sign_newest(f);
    WD_AUTO(wd_text) *theirs = sign_newest(&copy);
    assert_fault(f, ours, WD_AUDIT_SOUND, 0);
    assert_fault(&copy, theirs, WD_AUDIT_SOUND, 0);
    assert_fault(&copy, ours, WD_AUDIT_FORKED, 15);
    assert_fault(f, theirs, WD_AUDIT_TAIL_CUT, 16);
    wd_fixture_fill(f, 5);
    assert_fault(f, theirs, WD_AUDIT_FORKED, 18);
    wd_fixture_done(&copy);
}

static void a_checkpoint_is_made_of_news_alone_and_is_found_by_row(void **state)
{
    wd_fixture *f = *state;
    WD_AUTO(wd_checkpointer) *c = NULL;
    const wd_checkpointer_options options = {.store = f->store, .signer = signer};
    WD_AUTO(wd_reader) *reader = wd_segments_reader(f);
    WD_AUTO(wd_text) *text = NULL;
    WD_AUTO(wd_text) *pem = NULL;
    assert_int_equal(wd_checkpointer_start(&options, &c, NULL), WD_OK);
    assert_int_equal(wd_checkpointer_now(c, NULL), WD_OK); /* nothing to sign */
    assert_int_equal(wd_checkpoint_find(reader, 0, &text, NULL), WD_NOT_FOUND);
    wd_fixture_fill(f, 3);
    assert_int_equal(wd_checkpointer_now(c, NULL), WD_OK);
    assert_int_equal(wd_checkpointer_now(c, NULL), WD_OK);
    wd_fixture_fill(f, 3);
    assert_int_equal(wd_checkpointer_now(c, NULL), WD_OK);
    assert_int_equal(access(wd_fixture_path(f, "checkpoint"), R_OK), 0);
    assert_int_equal(wd_checkpoint_find(reader, 2, &text, NULL), WD_OK);
    assert_non_null(strstr(text, "\n3\n"));
    free(WD_STEAL(text));
    assert_int_equal(wd_checkpoint_find(reader, 4, &text, NULL), WD_OK);
    assert_non_null(strstr(text, "\n6\n"));
    free(WD_STEAL(text));
    assert_int_equal(wd_checkpoint_find(reader, 7, &text, NULL), WD_NOT_FOUND);
    assert_int_equal(wd_checkpoint_certificate(reader, "0123456789abcdef", &pem, NULL),
                     WD_OK);
    assert_string_equal(pem, "a certificate");
}

int main(void)
{
#define TEST(name)                                                                     \
    cmocka_unit_test_setup_teardown(name, wd_fixture_set_up, wd_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(claim_08_the_text_of_a_checkpoint_is_as_documented),
        TEST(every_prefix_and_every_odd_byte_of_a_checkpoint_is_refused),
        TEST(claim_08_verification_begins_at_any_checkpoint),
        TEST(claim_08_each_manipulation_against_a_checkpoint_has_its_name),
        TEST(claim_08_a_copied_database_that_was_continued_is_a_fork),
        TEST(a_checkpoint_is_made_of_news_alone_and_is_found_by_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
