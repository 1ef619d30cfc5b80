#include "proto/c/message.h"

#include "google/protobuf/descriptor.pb-c.h"
#include "proto/c/limits.h"
#include "proto/c/wire.h"
#include "tests/unit/proto/proto_test.h"
#include "warded/v1/observation.pb-c.h"
#include "warded/v1/token.pb-c.h"

static const ProtobufCMessageDescriptor *const batch =
    &warded__v1__get_observation_request__descriptor;

static wd_status decode(const ProtobufCMessageDescriptor *type, wd_span bytes,
                        wd_error *err)
{
    uint8_t *owned = NULL;
    wd_span exact = exact_copy(bytes, &owned);
    WD_AUTO(wd_budget) *budget = wd_budget_new(exact.size);
    ProtobufCMessage *message = NULL;
    wd_status status = wd_message_decode(type, exact, budget, &message, err);
    assert_int_equal(message != NULL, status == WD_OK);
    free(owned);
    return status;
}

static void encode_batch(wd_buffer *out)
{
    char first[] = "t1";
    char second[] = "t2";
    char action[] = "print('\xC3\xA9')";
    char path[] = "a.txt";
    uint8_t content[] = {0xFF, 0};
    Warded__V1__Limits limits = WARDED__V1__LIMITS__INIT;
    limits.wall_ms = 2000;
    Warded__V1__File file = WARDED__V1__FILE__INIT;
    file.path = path;
    file.data = (ProtobufCBinaryData){.len = sizeof(content), .data = content};
    Warded__V1__File *files[] = {&file};
    Warded__V1__Item items[2] = {WARDED__V1__ITEM__INIT, WARDED__V1__ITEM__INIT};
    items[0].trajectory_id = first;
    items[0].action = action;
    items[0].limits = &limits;
    items[0].n_files = 1;
    items[0].files = files;
    items[1].trajectory_id = second;
    items[1].finish = true;
    Warded__V1__Item *both[] = {&items[0], &items[1]};
    Warded__V1__GetObservationRequest request =
        WARDED__V1__GET_OBSERVATION_REQUEST__INIT;
    request.n_items = 2;
    request.items = both;
    assert_int_equal(wd_message_encode(&request.base, out, NULL), WD_OK);
}

static void a_message_comes_back_as_it_went(void **state)
{
    (void)state;
    WD_AUTO_BUFFER bytes = WD_BUFFER_INIT;
    encode_batch(&bytes);
    WD_AUTO(wd_budget) *budget = wd_budget_new(bytes.size);
    ProtobufCMessage *message = NULL;
    assert_int_equal(
        wd_message_decode(batch, wd_buffer_span(&bytes), budget, &message, NULL),
        WD_OK);
    const Warded__V1__GetObservationRequest *got =
        (const Warded__V1__GetObservationRequest *)message;
    assert_int_equal(got->n_items, 2);
    assert_string_equal(got->items[0]->action, "print('\xC3\xA9')");
    assert_int_equal(got->items[0]->limits->wall_ms, 2000);
    assert_int_equal(got->items[0]->files[0]->data.data[0], 0xFF);
    assert_string_equal(got->items[1]->trajectory_id, "t2");
    assert_true(got->items[1]->finish);

    WD_AUTO_BUFFER again = WD_BUFFER_INIT;
    assert_int_equal(wd_message_encode(message, &again, NULL), WD_OK);
    assert_int_equal(again.size, bytes.size);
    assert_memory_equal(again.data, bytes.data, bytes.size);
}

static void an_empty_payload_is_a_message_of_defaults(void **state)
{
    (void)state;
    wd_error err = {.status = WD_OK};
    assert_int_equal(decode(batch, SPAN(""), &err), WD_OK);
    assert_int_equal(decode(&warded__v1__who_am_irequest__descriptor, SPAN(""), &err),
                     WD_OK);
}

static void a_message_of_defaults_encodes_to_nothing(void **state)
{
    (void)state;
    Warded__V1__WhoAmIRequest message = WARDED__V1__WHO_AM_IREQUEST__INIT;
    WD_AUTO_BUFFER bytes = WD_BUFFER_INIT; /* has no memory to point into */
    assert_int_equal(wd_message_encode(&message.base, &bytes, NULL), WD_OK);
    assert_int_equal(bytes.size, 0);
}

static void every_prefix_and_every_flip_is_harmless(void **state)
{
    (void)state;
    WD_AUTO_BUFFER bytes = WD_BUFFER_INIT;
    encode_batch(&bytes);
    wd_error err = {.status = WD_OK};
    for (size_t size = 0; size <= bytes.size; size++)
        if (decode(batch, (wd_span){bytes.data, size}, &err) != WD_OK)
            assert_true(err.reason != WD_REASON_NONE);
    for (size_t at = 0; at < bytes.size; at++) {
        uint8_t was = bytes.data[at];
        for (unsigned value = 0; value < 256; value++) {
            bytes.data[at] = (uint8_t)value;
            if (decode(batch, wd_buffer_span(&bytes), &err) != WD_OK)
                assert_true(err.reason != WD_REASON_NONE);
        }
        bytes.data[at] = was;
    }
}

/* Field 1 of the batch is an item; its field 2 is the action. */
static const struct {
    const char *name;
    wd_span bytes;
    wd_reason reason;
} verdicts[] = {
    {"action in UTF-8", BYTES("\x0A\x04\x12\x02\xC3\xA9"), WD_REASON_NONE},
    {"stdin may hold any byte", BYTES("\x0A\x04\x2A\x02\xFF\x00"), WD_REASON_NONE},
    {"unknown field", BYTES("\x0A\x04\xF2\x06\x01x"), WD_REASON_NONE},
    {"limits in two parts", BYTES("\x0A\x08\x42\x02\x08\x05\x42\x02\x10\x06"),
     WD_REASON_NONE},
    {"overlong", BYTES("\x0A\x04\x12\x02\xC0\xAF"), WD_REASON_MALFORMED},
    {"surrogate", BYTES("\x0A\x05\x12\x03\xED\xA0\x80"), WD_REASON_MALFORMED},
    {"F5", BYTES("\x0A\x06\x12\x04\xF5\x80\x80\x80"), WD_REASON_MALFORMED},
    {"cut", BYTES("\x0A\x04\x12\x02\xE2\x82"), WD_REASON_MALFORMED},
    {"NUL",
     BYTES("\x0A\x05\x12\x03"
           "a\0b"),
     WD_REASON_FIELD_INVALID},
    {"bad text in a repeated string", BYTES("\x0A\x03\x3A\x01\xFF"),
     WD_REASON_MALFORMED},
    {"bad text that a later one replaces", BYTES("\x0A\x06\x12\x01\xFF\x12\x01x"),
     WD_REASON_MALFORMED},
    {"item as a number", BYTES("\x08\x01"), WD_REASON_MALFORMED},
    {"action as a number", BYTES("\x0A\x02\x10\x01"), WD_REASON_MALFORMED},
    {"item longer than the rest", BYTES("\x0A\x7F\x12\x01x"), WD_REASON_MALFORMED},
    {"group", BYTES("\x0B\x0C"), WD_REASON_MALFORMED},
    {"not protobuf", BYTES("\xFF\xFF\xFF"), WD_REASON_MALFORMED},
};

static void odd_payloads_have_their_verdicts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(verdicts); i++) {
        print_message("  %s\n", verdicts[i].name);
        wd_error err = {.status = WD_OK};
        wd_status status = decode(batch, verdicts[i].bytes, &err);
        if (verdicts[i].reason == WD_REASON_NONE)
            assert_int_equal(status, WD_OK);
        else
            expect_refused(status, &err, verdicts[i].reason);
    }
}

/* One field of each kind that a request may have, with a value that its own type could
 * read. protobuf-c by itself takes a bool of any of them. */
static void claim_01_a_field_of_another_wire_type_is_malformed(void **state)
{
    static const struct {
        const char *name;
        const ProtobufCMessageDescriptor *type;
        uint32_t field;
        uint32_t own;
    } fields[] = {
        {"text", &warded__v1__issue_request__descriptor, 1, 2},
        {"list of texts", &warded__v1__issue_request__descriptor, 6, 2},
        {"uint64", &warded__v1__issue_request__descriptor, 8, 0},
        {"bool", &warded__v1__issue_request__descriptor, 10, 0},
        {"message", &warded__v1__issue_request__descriptor, 13, 2},
        {"uint32", &warded__v1__issue_request__descriptor, 14, 0},
        {"list of messages", &warded__v1__get_observation_request__descriptor, 1, 2},
        {"enum", &google__protobuf__field_descriptor_proto__descriptor, 4, 0},
    };
    static const uint32_t types[] = {0, 1, 2, 5};
    (void)state;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        for (size_t k = 0; k < 4; k++) {
            uint8_t bytes[9] = {(uint8_t)(fields[i].field << 3 | types[k])};
            static const size_t sizes[] = {2, 9, 2, 5};
            wd_error err = {.status = WD_OK};
            print_message("  %s, wire type %u\n", fields[i].name, types[k]);
            wd_status status = decode(fields[i].type, (wd_span){bytes, sizes[k]}, &err);
            assert_int_equal(status == WD_OK, types[k] == fields[i].own);
            assert_true(status == WD_OK || err.reason == WD_REASON_MALFORMED);
        }
    }
}

static void the_refusal_names_the_field(void **state)
{
    (void)state;
    wd_error err = {.status = WD_OK};
    (void)!decode(batch, SPAN("\x0A\x04\x12\x02\xC0\xAF"), &err);
    assert_non_null(strstr(err.msg, "warded.v1.Item.action"));
}

static void a_mebibyte_of_empty_items_meets_the_budget(void **state)
{
    (void)state;
    WD_AUTO_BUFFER bytes = WD_BUFFER_INIT;
    for (size_t i = 0; i < (1U << 19); i++)
        assert_true(wd_buffer_append(&bytes, "\x0A\x00", 2));
    wd_error err = {.status = WD_OK};
    wd_status status = decode(batch, wd_buffer_span(&bytes), &err);
    expect_refused(status, &err, WD_REASON_TOO_LARGE);
    assert_non_null(strstr(err.msg, "1048576")); /* what was sent */
    assert_non_null(strstr(err.msg, "9437184")); /* what it may take */
}

static void unknown_fields_and_replaced_text_meet_the_budget_too(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        wd_span unit;
    } cases[] = {
        {"unknown fields", BYTES("\xF8\x06\x00")},
        {"strings in an item", BYTES("\x3A\x00")},
        {"one string again and again", BYTES("\x12\x00")},
        {"one submessage again and again", BYTES("\x42\x00")},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        print_message("  %s\n", cases[i].name);
        WD_AUTO_BUFFER item = WD_BUFFER_INIT;
        while (item.size < (1U << 20))
            assert_true(
                wd_buffer_append(&item, cases[i].unit.data, cases[i].unit.size));
        wd_error err = {.status = WD_OK};
        wd_status status =
            decode(&warded__v1__item__descriptor, wd_buffer_span(&item), &err);
        expect_refused(status, &err, WD_REASON_TOO_LARGE);
    }
}

static void the_largest_honest_batch_fits_its_budget(void **state)
{
    (void)state;
    WD_AUTO_BUFFER bytes = WD_BUFFER_INIT;
    Warded__V1__Item item = WARDED__V1__ITEM__INIT;
    char trajectory[] = "trajectory-0001";
    char action[] = "1";
    item.trajectory_id = trajectory;
    item.action = action;
    Warded__V1__Item *items[WD_BATCH_ITEMS];
    for (size_t i = 0; i < COUNT(items); i++)
        items[i] = &item;
    Warded__V1__GetObservationRequest request =
        WARDED__V1__GET_OBSERVATION_REQUEST__INIT;
    request.n_items = COUNT(items);
    request.items = items;
    assert_int_equal(wd_message_encode(&request.base, &bytes, NULL), WD_OK);
    wd_error err = {.status = WD_OK};
    assert_int_equal(decode(batch, wd_buffer_span(&bytes), &err), WD_OK);
}

/* DescriptorProto holds itself (field 3): the one recursive type in this build. */
static void depth_ends_at_its_limit(void **state)
{
    (void)state;
    WD_AUTO_BUFFER nested = WD_BUFFER_INIT;
    for (unsigned depth = 1; depth <= WD_MESSAGE_DEPTH + 1; depth++) {
        wd_error err = {.status = WD_OK};
        wd_status status = decode(&google__protobuf__descriptor_proto__descriptor,
                                  wd_buffer_span(&nested), &err);
        if (depth <= WD_MESSAGE_DEPTH)
            assert_int_equal(status, WD_OK);
        else
            expect_refused(status, &err, WD_REASON_MALFORMED);
        WD_AUTO_BUFFER outer = WD_BUFFER_INIT;
        assert_true(wd_wire_put_part(&outer, 3, wd_buffer_span(&nested)));
        wd_buffer_clear(&nested);
        assert_true(wd_buffer_append(&nested, outer.data, outer.size));
    }
}

/* Written from the end of `space` forward; returns where it starts. */
static uint8_t *nest(uint8_t *end, size_t levels)
{
    uint8_t *at = end;
    for (size_t i = 0; i < levels; i++) {
        size_t size = (size_t)(end - at);
        *--at = (uint8_t)(size >> 14);
        *--at = (uint8_t)(size >> 7 | 0x80);
        *--at = (uint8_t)(size | 0x80);
        *--at = 0x1A; /* field 3, bytes */
    }
    return at;
}

/* protobuf-c alone would overflow its stack on this. */
static void nine_thousand_levels_are_refused(void **state)
{
    (void)state;
    uint8_t space[4 * 9000];
    const uint8_t *at = nest(space + sizeof(space), 9000);
    assert_ptr_equal(at, space);
    wd_error err = {.status = WD_OK};
    wd_status status = decode(&google__protobuf__descriptor_proto__descriptor,
                              (wd_span){space, sizeof(space)}, &err);
    expect_refused(status, &err, WD_REASON_MALFORMED);
    assert_non_null(strstr(err.msg, "deeper than 32"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_comes_back_as_it_went),
        cmocka_unit_test(an_empty_payload_is_a_message_of_defaults),
        cmocka_unit_test(a_message_of_defaults_encodes_to_nothing),
        cmocka_unit_test(every_prefix_and_every_flip_is_harmless),
        cmocka_unit_test(odd_payloads_have_their_verdicts),
        cmocka_unit_test(claim_01_a_field_of_another_wire_type_is_malformed),
        cmocka_unit_test(the_refusal_names_the_field),
        cmocka_unit_test(a_mebibyte_of_empty_items_meets_the_budget),
        cmocka_unit_test(unknown_fields_and_replaced_text_meet_the_budget_too),
        cmocka_unit_test(the_largest_honest_batch_fits_its_budget),
        cmocka_unit_test(depth_ends_at_its_limit),
        cmocka_unit_test(nine_thousand_levels_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
