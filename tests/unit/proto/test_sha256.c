#include "proto/c/sha256.h"

#include "tests/unit/proto/proto_test.h"

/* FIPS 180-4 examples. */
static const struct {
    wd_span data;
    const char *hex;
} digests[] = {
    {BYTES(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {BYTES("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {BYTES("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
};

static void digests_are_those_of_the_standard(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(digests); i++) {
        uint8_t digest[WD_SHA256_BYTES];
        char hex[WD_SHA256_HEX_BYTES];
        wd_sha256_of(digests[i].data, digest);
        wd_hex((wd_span){digest, sizeof(digest)}, hex);
        assert_string_equal(hex, digests[i].hex);
    }
}

static void parts_give_the_digest_of_the_whole(void **state)
{
    (void)state;
    for (size_t cut = 0; cut <= 56; cut++) {
        wd_sha256 sha;
        wd_sha256_init(&sha);
        wd_sha256_add(&sha, digests[2].data.data, cut);
        wd_sha256 copy = sha; /* may be copied in the middle */
        wd_sha256_add(&copy, digests[2].data.data + cut, 56 - cut);
        uint8_t digest[WD_SHA256_BYTES];
        char hex[WD_SHA256_HEX_BYTES];
        wd_sha256_end(&copy, digest);
        wd_hex((wd_span){digest, sizeof(digest)}, hex);
        assert_string_equal(hex, digests[2].hex);
    }
}

static void macs_are_those_of_rfc_4231(void **state)
{
    (void)state;
    uint8_t long_key[131];
    memset(long_key, 0xAA, sizeof(long_key));
    const struct {
        wd_span key, data;
        const char *hex;
    } cases[] = {
        {SPAN("\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b"
              "\x0b\x0b"),
         SPAN("Hi There"),
         "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
        {SPAN("Jefe"), SPAN("what do ya want for nothing?"),
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        {{long_key, sizeof(long_key)},
         SPAN("Test Using Larger Than Block-Size Key - Hash Key First"),
         "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint8_t mac[WD_SHA256_BYTES];
        char hex[WD_SHA256_HEX_BYTES];
        wd_hmac_sha256(cases[i].key, cases[i].data, mac);
        wd_hex((wd_span){mac, sizeof(mac)}, hex);
        assert_string_equal(hex, cases[i].hex);
    }
}

static void hex_reads_only_hex(void **state)
{
    (void)state;
    uint8_t bytes[3] = {1, 1, 1};
    assert_true(wd_hex_parse("00aBfF", bytes, 3));
    assert_memory_equal(bytes, "\x00\xAB\xFF", 3);
    static const char *const refused[] = {"",       "00aBf",  "00aBfF0", "00aBfg",
                                          "0x00ab", " 0aBfF", "00aB-F"};
    for (size_t i = 0; i < COUNT(refused); i++)
        assert_false(wd_hex_parse(refused[i], bytes, 3));
    assert_false(wd_hex_parse(NULL, bytes, 3));
    assert_memory_equal(bytes, "\x00\xAB\xFF", 3);
}

static void equality_randomness_and_wiping(void **state)
{
    (void)state;
    assert_true(wd_equal_ct("abc", "abc", 3));
    assert_false(wd_equal_ct("abc", "abd", 3));
    assert_true(wd_equal_ct("", "", 0));

    uint8_t one[32] = {0};
    uint8_t two[32] = {0};
    wd_random(one, sizeof(one));
    wd_random(two, sizeof(two));
    assert_memory_not_equal(one, two, sizeof(one));
    wd_wipe(one, sizeof(one));
    uint8_t zero[32] = {0};
    assert_memory_equal(one, zero, sizeof(zero));
    wd_wipe(NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_those_of_the_standard),
        cmocka_unit_test(parts_give_the_digest_of_the_whole),
        cmocka_unit_test(macs_are_those_of_rfc_4231),
        cmocka_unit_test(hex_reads_only_hex),
        cmocka_unit_test(equality_randomness_and_wiping),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
