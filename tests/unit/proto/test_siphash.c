/* SipHash-2-4 against the vectors of its authors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/c/siphash.h"

static void the_authors_vectors_are_met(void **state)
{
    /* Of the bytes 0, 1, 2, ... under the key 0, 1, ..., 15. */
    static const struct {
        size_t size;
        uint64_t want;
    } cases[] = {
        {0, 0x726fdb47dd0e0e31U},  {1, 0x74f839c593dc67fdU},  {7, 0xab0200f58b01d137U},
        {8, 0x93f5f5799a932462U},  {15, 0xa129ca6149be45e5U}, {16, 0x3f2acc7f57c29bdbU},
        {63, 0x958a324ceb064572U},
    };
    uint8_t bytes[64];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)i;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t got = wd_siphash(bytes, (wd_span){bytes, cases[i].size});
        print_message("  %zu bytes\n", cases[i].size);
        assert_true(got == cases[i].want);
    }
}

static void another_key_gives_another_hash(void **state)
{
    uint8_t key[WD_SIPHASH_KEY_BYTES] = {0};
    const uint8_t data[16] = {7};
    uint64_t first = wd_siphash(key, (wd_span){data, sizeof(data)});

    (void)state;
    for (size_t i = 0; i < sizeof(key); i++) {
        key[i] = 1;
        assert_true(wd_siphash(key, (wd_span){data, sizeof(data)}) != first);
        key[i] = 0;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_authors_vectors_are_met),
        cmocka_unit_test(another_key_gives_another_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
