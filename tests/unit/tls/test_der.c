/* What is DER and what only resembles it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "proto/tls/der.h"

typedef struct der_case {
    const char *name;
    wd_span in;
    bool valid;
} der_case;

#define BYTES(literal) {(const uint8_t *)(literal), sizeof(literal) - 1}
#define UUID           "\x83\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"

static const der_case cases[] = {
    {"nothing", BYTES(""), true},
    {"a sequence of nothing", BYTES("\x30\x00"), true},
    {"two elements", BYTES("\x05\x00\x30\x03\x02\x01\x7f"), true},
    {"TRUE", BYTES("\x01\x01\xff"), true},
    {"bits, three unused", BYTES("\x03\x02\x03\xf8"), true},
    {"no bits", BYTES("\x03\x01\x00"), true},
    {"a number with a zero for its sign", BYTES("\x02\x02\x00\x80"), true},
    {"a negative number", BYTES("\x02\x02\xff\x7f"), true},
    {"an object identifier", BYTES("\x06\x03\x55\x1d\x11"), true},
    {"an arc of 128 bits", BYTES("\x06\x14\x69" UUID "\x7f"), true},
    {"text", BYTES("\x0c\x03\xe2\x82\xac"), true},
    {"text of two bytes a letter", BYTES("\x1e\x02\x20\xac"), true},
    {"text of four bytes a letter", BYTES("\x1c\x04\x00\x10\xff\xff"), true},
    {"bytes of any kind", BYTES("\x04\x02\xff\x00"), true},
    {"a context's own", BYTES("\x86\x01\xff\xa0\x02\x05\x00"), true},

    {"a length that is cut off", BYTES("\x30"), false},
    {"content that is cut off", BYTES("\x30\x01"), false},
    {"a length longer than need be", BYTES("\x30\x81\x00"), false},
    {"a length without end", BYTES("\x30\x80\x00\x00"), false},
    {"the same, nested", BYTES("\x30\x03\x30\x81\x00"), false},
    {"a tag of two bytes", BYTES("\x1f\x01\x00"), false},
    {"tag 0", BYTES("\x00\x00"), false},
    {"FALSE", BYTES("\x01\x01\x00"), false},
    {"TRUE, but 1", BYTES("\x01\x01\x01"), false},
    {"a boolean of two bytes", BYTES("\x01\x02\xff\xff"), false},
    {"a number of no bytes", BYTES("\x02\x00"), false},
    {"a number with a zero in front", BYTES("\x02\x02\x00\x7f"), false},
    {"a number with ones in front", BYTES("\x02\x02\xff\x80"), false},
    {"bits without their count", BYTES("\x03\x00"), false},
    {"eight unused bits", BYTES("\x03\x02\x08\x00"), false},
    {"unused bits of nothing", BYTES("\x03\x01\x01"), false},
    {"unused bits that are set", BYTES("\x03\x02\x03\xff"), false},
    {"NULL with content", BYTES("\x05\x01\x00"), false},
    {"an empty object identifier", BYTES("\x06\x00"), false},
    {"an arc with zeros in front", BYTES("\x06\x03\x55\x80\x01"), false},
    {"an arc that does not end", BYTES("\x06\x02\x55\x81"), false},
    {"an arc of 129 bits", BYTES("\x06\x14\x69\x84" UUID), false},
    {"text that is none", BYTES("\x0c\x01\xff"), false},
    {"half a letter of two bytes", BYTES("\x1e\x03\x20\xac\x20"), false},
    {"half of a pair for a letter", BYTES("\x1e\x02\xd8\x00"), false},
    {"three quarters of a letter", BYTES("\x1c\x03\x00\x00\x61"), false},
    {"a letter beyond the last", BYTES("\x1c\x04\x00\x11\x00\x00"), false},
    {"text in pieces", BYTES("\x2c\x03\x0c\x01\x61"), false},
    {"a sequence that is primitive", BYTES("\x10\x00"), false},
};

static void elements_are_judged_down_to_the_last(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        print_message("  %s\n", cases[i].name);
        assert_int_equal(wd_der_valid(cases[i].in), cases[i].valid);
    }
}

static void nesting_has_an_end(void **state)
{
    uint8_t in[2 * (WD_DER_DEPTH + 1)];

    (void)state;
    for (size_t i = 0; i < sizeof in; i += 2) {
        in[i] = WD_DER_SEQUENCE;
        in[i + 1] = (uint8_t)(sizeof in - i - 2);
    }
    assert_false(wd_der_valid((wd_span){in, sizeof in}));
    assert_true(wd_der_valid((wd_span){in + 4, sizeof in - 4}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_are_judged_down_to_the_last),
        cmocka_unit_test(nesting_has_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
