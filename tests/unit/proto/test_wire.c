#include "proto/c/wire.h"

#include "tests/unit/proto/proto_test.h"

static void each_wire_type_is_read(void **state)
{
    (void)state;
    wd_wire_reader in = wd_wire_read(SPAN("\x08\x96\x01" /* 1: 150 */
                                          "\x11\x01\x02\x03\x04\x05\x06\x07\x08" /* 2 */
                                          "\x1A\x02hi"                           /* 3 */
                                          "\x25\x78\x56\x34\x12"));              /* 4 */
    wd_wire_field field;
    assert_true(wd_wire_next(&in, &field));
    assert_int_equal(field.number, 1);
    assert_int_equal(field.type, WD_WIRE_VARINT);
    assert_int_equal(field.value, 150);
    assert_true(wd_wire_next(&in, &field));
    assert_int_equal(field.type, WD_WIRE_FIXED64);
    assert_true(field.value == UINT64_C(0x0807060504030201));
    assert_true(wd_wire_next(&in, &field));
    assert_int_equal(field.type, WD_WIRE_BYTES);
    assert_int_equal(field.bytes.size, 2);
    assert_memory_equal(field.bytes.data, "hi", 2);
    assert_true(wd_wire_next(&in, &field));
    assert_int_equal(field.type, WD_WIRE_FIXED32);
    assert_int_equal(field.value, 0x12345678);
    assert_false(wd_wire_next(&in, &field));
    assert_false(in.bad);
}

static void what_is_no_field_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        wd_span bytes;
    } cases[] = {
        {"tag cut off", BYTES("\x88")},
        {"varint cut off", BYTES("\x08\x96")},
        {"varint missing", BYTES("\x08")},
        {"varint of eleven bytes",
         BYTES("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01")},
        {"varint above 64 bits", BYTES("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02")},
        {"field number 0", BYTES("\x00\x01")},
        {"field number above 2^29-1", BYTES("\x80\x80\x80\x80\x10\x01")},
        {"group start", BYTES("\x0B\x0C")},
        {"group end", BYTES("\x0C")},
        {"wire type 6", BYTES("\x0E\x00")},
        {"wire type 7", BYTES("\x0F\x00")},
        {"length beyond the end", BYTES("\x0A\x03hi")},
        {"length near 2^64", BYTES("\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01")},
        {"fixed64 cut off", BYTES("\x09\x01\x02\x03\x04\x05\x06\x07")},
        {"fixed32 cut off", BYTES("\x0D\x01\x02\x03")},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        print_message("  %s\n", cases[i].name);
        uint8_t *owned = NULL;
        wd_wire_reader in = wd_wire_read(exact_copy(cases[i].bytes, &owned));
        wd_wire_field field;
        assert_false(wd_wire_next(&in, &field));
        assert_true(in.bad);
        assert_false(wd_wire_next(&in, &field)); /* and stays so */
        free(owned);
    }
}

static void largest_varint_is_read(void **state)
{
    (void)state;
    wd_wire_reader in =
        wd_wire_read(SPAN("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"));
    wd_wire_field field;
    assert_true(wd_wire_next(&in, &field));
    assert_true(field.value == UINT64_MAX);
}

static void what_is_put_is_read_again(void **state)
{
    (void)state;
    static const uint64_t values[] = {1,     127,        128,       16383,
                                      16384, UINT32_MAX, UINT64_MAX};
    for (size_t i = 0; i < COUNT(values); i++) {
        WD_AUTO_BUFFER out = WD_BUFFER_INIT;
        assert_true(wd_wire_put_number(&out, 51077, values[i]));
        wd_wire_reader in = wd_wire_read(wd_buffer_span(&out));
        wd_wire_field field;
        assert_true(wd_wire_next(&in, &field));
        assert_int_equal(field.number, 51077);
        assert_true(field.value == values[i]);
        assert_false(wd_wire_next(&in, &field));
    }
}

static void defaults_are_not_written_but_parts_are(void **state)
{
    (void)state;
    WD_AUTO_BUFFER out = WD_BUFFER_INIT;
    assert_true(wd_wire_put_number(&out, 1, 0));
    assert_true(wd_wire_put_bytes(&out, 2, SPAN("")));
    assert_int_equal(out.size, 0);
    assert_true(wd_wire_put_part(&out, 2, SPAN("")));
    assert_int_equal(out.size, 2);
    assert_memory_equal(out.data, "\x12\x00", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_wire_type_is_read),
        cmocka_unit_test(what_is_no_field_is_refused),
        cmocka_unit_test(largest_varint_is_read),
        cmocka_unit_test(what_is_put_is_read_again),
        cmocka_unit_test(defaults_are_not_written_but_parts_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
