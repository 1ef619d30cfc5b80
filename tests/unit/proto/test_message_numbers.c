/* Numbers as messages may not have them: of more bits than their field, without a name. */
#include "google/protobuf/descriptor.pb-c.h"
#include "proto/c/message.h"
#include "tests/unit/proto/proto_test.h"
#include "warded/v1/audit.pb-c.h"
#include "warded/v1/observation.pb-c.h"

static wd_status decode(const ProtobufCMessageDescriptor *type, wd_span bytes,
                        bool asked, wd_error *err)
{
    WD_AUTO(wd_budget) *budget = wd_budget_new(bytes.size);
    ProtobufCMessage *message = NULL;
    wd_status status = (asked ? wd_message_decode_request
                              : wd_message_decode)(type, bytes, budget, &message, err);
    assert_int_equal(message != NULL, status == WD_OK);
    return status;
}

#define MOST_32 "\xFF\xFF\xFF\xFF\x0F"
#define OVER_32 "\x80\x80\x80\x80\x10" /* 2^32, which cut to 32 bits would be 0 */
#define MINUS_1 "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"
#define LEAST   "\x80\x80\x80\x80\xF8\xFF\xFF\xFF\xFF\x01" /* -2^31 */
#define BELOW   "\xFF\xFF\xFF\xFF\xF7\xFF\xFF\xFF\xFF\x01"

static void claim_01_a_number_of_more_bits_than_its_field_is_malformed(void **state)
{
    static const ProtobufCMessageDescriptor *const field =
        &google__protobuf__field_descriptor_proto__descriptor;
    static const ProtobufCMessageDescriptor *const limits =
        &warded__v1__limits__descriptor;
    static const ProtobufCMessageDescriptor *const filter =
        &warded__v1__audit_filter__descriptor;
    static const struct {
        const char *name;
        const ProtobufCMessageDescriptor *type;
        wd_span bytes;
        bool passes;
    } cases[] = {
        {"uint32, most", limits, BYTES("\x20" MOST_32), true},
        {"uint32, one more", limits, BYTES("\x20" OVER_32), false},
        {"uint32, -1", limits, BYTES("\x20" MINUS_1), false},
        {"uint64, -1", limits, BYTES("\x08" MINUS_1), true},
        {"int32, -1 in 5 bytes", field, BYTES("\x18" MOST_32), true},
        {"int32, -1 in 10", field, BYTES("\x18" MINUS_1), true},
        {"int32, least", field, BYTES("\x18" LEAST), true},
        {"int32, below", field, BYTES("\x18" BELOW), false},
        {"int32, 2^32", field, BYTES("\x18" OVER_32), false},
        {"enum, -1 in 5 bytes", field, BYTES("\x20" MOST_32), true},
        {"enum, -1 in 10", field, BYTES("\x20" MINUS_1), true},
        {"enum, 2^32", field, BYTES("\x20" OVER_32), false},
        {"packed, 1 and most", filter, BYTES("\x2A\x06\x01" MOST_32), true},
        {"packed, 1 and one more", filter, BYTES("\x2A\x06\x01" OVER_32), false},
        {"packed, cut", filter, BYTES("\x2A\x02\x01\x80"), false},
        {"unpacked, one more", filter, BYTES("\x28" OVER_32), false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        wd_error err = {.status = WD_OK};
        print_message("  %s\n", cases[i].name);
        wd_status status = decode(cases[i].type, cases[i].bytes, false, &err);
        if (cases[i].passes)
            assert_int_equal(status, WD_OK);
        else
            expect_refused(status, &err, WD_REASON_MALFORMED);
    }
}

static void an_enum_without_a_name_is_refused_in_a_request_alone(void **state)
{
    static const ProtobufCMessageDescriptor *const query =
        &warded__v1__query_request__descriptor;
    static const struct {
        const char *name;
        wd_span bytes;
        bool passes;
    } cases[] = {
        {"0", BYTES("\x58\x00"), true},
        {"the last", BYTES("\x58\x01"), true},
        {"one more", BYTES("\x58\x02"), false},
        {"-1 in 5 bytes", BYTES("\x58" MOST_32), false},
        {"-1 in 10", BYTES("\x58" MINUS_1), false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        wd_error err = {.status = WD_OK};
        print_message("  %s\n", cases[i].name);
        wd_status status = decode(query, cases[i].bytes, true, &err);
        if (cases[i].passes)
            assert_int_equal(status, WD_OK);
        else
            expect_refused(status, &err, WD_REASON_FIELD_INVALID);
        assert_int_equal(decode(query, cases[i].bytes, false, &err), WD_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_01_a_number_of_more_bits_than_its_field_is_malformed),
        cmocka_unit_test(an_enum_without_a_name_is_refused_in_a_request_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
