#include "proto/c/envelope.h"

#include "proto/c/envelope_parts.h"
#include "tests/unit/proto/proto_test.h"
#include "tests/unit/proto/sample.h"
#include "warded/v1/rpc.pb-c.h"

static void encode_sample(wd_buffer *out)
{
    wd_request request = sample_request();
    assert_int_equal(wd_request_encode(&request, out, NULL), WD_OK);
}

static void a_request_comes_back_as_it_went(void **state)
{
    (void)state;
    WD_AUTO_BUFFER frame = WD_BUFFER_INIT;
    encode_sample(&frame);
    WD_AUTO(wd_request) *got = NULL;
    assert_int_equal(wd_request_decode(wd_buffer_span(&frame), &got, NULL), WD_OK);

    wd_request sent = sample_request();
    assert_int_equal(got->version, 1);
    assert_memory_equal(got->call_id, sent.call_id, WD_CALL_ID_BYTES);
    assert_int_equal(got->attempt, 2);
    assert_string_equal(got->method, sent.method);
    assert_int_equal(got->timeout_ms, 1500);
    assert_string_equal(got->token, sent.token);
    assert_int_equal(got->kind, WD_REQUEST_CALL);
    assert_int_equal(got->n_metadata, 2);
    assert_string_equal(wd_request_metadata(got, "run"), "7");
    assert_null(wd_request_metadata(got, "absent"));
    assert_int_equal(got->payload.size, 5);
    assert_true(got->payload.data > frame.data); /* not copied */
}

/* What protoc-c made of rpc.proto and our own codec must agree, both ways. */
static void protobuf_reads_what_we_write(void **state)
{
    (void)state;
    WD_AUTO_BUFFER frame = WD_BUFFER_INIT;
    encode_sample(&frame);
    Warded__V1__Request *got =
        warded__v1__request__unpack(NULL, frame.size, frame.data);
    assert_non_null(got);
    assert_int_equal(got->version, 1);
    assert_int_equal(got->call_id.len, 16);
    assert_string_equal(got->method, "/warded.v1.Health/Check");
    assert_int_equal(got->timeout_ms, 1500);
    assert_int_equal(got->n_metadata, 2);
    assert_string_equal(got->metadata[0]->key, "traceparent");
    assert_string_equal(got->metadata[1]->value, "7");
    assert_int_equal(got->payload.len, 5);
    assert_int_equal(warded__v1__request__get_packed_size(got), frame.size);
    uint8_t *packed = malloc(frame.size);
    assert_int_equal(warded__v1__request__pack(got, packed), frame.size);
    assert_memory_equal(packed, frame.data, frame.size);
    free(packed);
    warded__v1__request__free_unpacked(got, NULL);
}

static void field_numbers_are_those_of_the_schema(void **state)
{
    (void)state;
    static const struct {
        const ProtobufCMessageDescriptor *type;
        const char *name;
        unsigned number;
    } fields[] = {
#define REQUEST(name, NAME)                                                            \
    {&warded__v1__request__descriptor, #name, WD_FIELD_REQUEST_##NAME}
        REQUEST(version, VERSION),
        REQUEST(call_id, CALL_ID),
        REQUEST(attempt, ATTEMPT),
        REQUEST(method, METHOD),
        REQUEST(timeout_ms, TIMEOUT_MS),
        REQUEST(token, TOKEN),
        REQUEST(kind, KIND),
        REQUEST(metadata, METADATA),
        REQUEST(payload, PAYLOAD),
#define REPLY(name, NAME) {&warded__v1__reply__descriptor, #name, WD_FIELD_REPLY_##NAME}
        REPLY(call_id, CALL_ID),
        REPLY(code, CODE),
        REPLY(reason, REASON),
        REPLY(message, MESSAGE),
        REPLY(retry_after_ms, RETRY_AFTER_MS),
        REPLY(detail, DETAIL),
        REPLY(metadata, METADATA),
        REPLY(head, HEAD),
        REPLY(payload, PAYLOAD),
        REPLY(now_ms, NOW_MS),
        {&warded__v1__audit_head__descriptor, "seq", WD_FIELD_HEAD_SEQ},
        {&warded__v1__audit_head__descriptor, "hash", WD_FIELD_HEAD_HASH},
    };
    for (size_t i = 0; i < COUNT(fields); i++) {
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field_by_name(fields[i].type,
                                                            fields[i].name);
        assert_non_null(field);
        assert_int_equal(field->id, fields[i].number);
    }
    assert_int_equal(warded__v1__request__descriptor.n_fields, 9);
    assert_int_equal(warded__v1__reply__descriptor.n_fields, 10);
}

static void reasons_are_those_of_the_schema(void **state)
{
    (void)state;
    const ProtobufCEnumDescriptor *reasons = &warded__v1__reason__descriptor;
    for (unsigned i = 0; i < reasons->n_values; i++) {
        const ProtobufCEnumValue *value = &reasons->values[i];
        const char *name = wd_reason_name((wd_reason)value->value);
        assert_string_equal(value->value == 0 ? "NONE" : value->name, name);
    }
    assert_string_equal(wd_reason_name((wd_reason)reasons->n_values), "UNKNOWN");
}

/* Whatever the bytes, the answer is a typed refusal or a request that keeps its word. */
static void decode_and_check(wd_span bytes)
{
    uint8_t *owned = NULL;
    wd_span frame = exact_copy(bytes, &owned);
    wd_error err = {.status = WD_OK};
    WD_AUTO(wd_request) *got = NULL;
    wd_status status = wd_request_decode(frame, &got, &err);
    if (status == WD_OK) {
        assert_int_equal(got->version, 1);
        assert_true(wd_uuid7_valid((wd_span){got->call_id, WD_CALL_ID_BYTES}));
        assert_true(got->kind == WD_REQUEST_CALL || got->kind == WD_REQUEST_CANCEL ||
                    got->kind == WD_REQUEST_NEXT);
        assert_true(strlen(got->method) <= WD_METHOD_BYTES);
        assert_true(strlen(got->token) <= WD_TOKEN_BYTES);
        assert_true(got->payload.size <= frame.size);
    } else {
        assert_null(got);
        assert_true(err.reason != WD_REASON_NONE && strlen(err.msg) > 0);
    }
    uint8_t id[WD_CALL_ID_BYTES];
    bool peeked = wd_request_peek_call_id(frame, id);
    assert_true(peeked || status != WD_OK);
    free(owned);
}

static void every_prefix_is_refused_or_harmless(void **state)
{
    (void)state;
    WD_AUTO_BUFFER frame = WD_BUFFER_INIT;
    encode_sample(&frame);
    for (size_t size = 0; size <= frame.size; size++)
        decode_and_check((wd_span){frame.data, size});
}

static void every_flipped_byte_is_harmless(void **state)
{
    (void)state;
    WD_AUTO_BUFFER frame = WD_BUFFER_INIT;
    encode_sample(&frame);
    for (size_t at = 0; at < frame.size; at++) {
        uint8_t was = frame.data[at];
        for (unsigned value = 0; value < 256; value++) {
            frame.data[at] = (uint8_t)value;
            decode_and_check(wd_buffer_span(&frame));
        }
        frame.data[at] = was;
    }
}

static void a_later_field_wins_and_unknown_ones_are_skipped(void **state)
{
    (void)state;
    WD_AUTO_BUFFER frame = WD_BUFFER_INIT;
    encode_sample(&frame);
    assert_true(wd_wire_put_number(&frame, WD_FIELD_REQUEST_ATTEMPT, 9));
    assert_true(wd_wire_put_bytes(&frame, WD_FIELD_REQUEST_METHOD, SPAN("/other")));
    assert_true(wd_wire_put_bytes(&frame, 4000, SPAN("of a later version")));
    WD_AUTO(wd_request) *got = NULL;
    assert_int_equal(wd_request_decode(wd_buffer_span(&frame), &got, NULL), WD_OK);
    assert_int_equal(got->attempt, 9);
    assert_string_equal(got->method, "/other");
}

static void the_call_id_of_a_refused_frame_is_found(void **state)
{
    (void)state;
    WD_AUTO_BUFFER frame = WD_BUFFER_INIT;
    encode_sample(&frame);
    wd_request sample = sample_request();
    uint8_t id[WD_CALL_ID_BYTES] = {0};
    assert_true(wd_wire_put_number(&frame, WD_FIELD_REQUEST_VERSION, 7));
    assert_true(wd_buffer_append(&frame, "\xFF", 1));
    assert_true(wd_request_peek_call_id(wd_buffer_span(&frame), id));
    assert_memory_equal(id, sample.call_id, sizeof(id));

    assert_false(wd_request_peek_call_id(SPAN(""), id));
    assert_false(wd_request_peek_call_id(SPAN("\x12\x03"
                                              "abc"),
                                         id));
    assert_false(wd_request_peek_call_id(SPAN("\xFF\xFF"), id));
}

static void a_reply_comes_back_as_it_went(void **state)
{
    (void)state;
    const wd_reply sent = {
        .call_id = SPAN("0123456789abcdef"),
        .retry_after_ms = 5,
        .detail = SPAN("d"),
        .n_metadata = 2,
        .metadata = sample_metadata,
        .has_head = true,
        .head_seq = 77,
        .head_hash = {1, 2, 3},
        .payload = SPAN("payload"),
        .now_ms = 1645557742000,
    };
    WD_AUTO_BUFFER frame = WD_BUFFER_INIT;
    assert_int_equal(wd_reply_encode(&sent, &frame, NULL), WD_OK);
    WD_AUTO(wd_reply) *got = NULL;
    assert_int_equal(wd_reply_decode(wd_buffer_span(&frame), &got, NULL), WD_OK);
    assert_int_equal(got->call_id.size, 16);
    assert_string_equal(got->message, "");
    assert_int_equal(got->n_metadata, 2);
    assert_true(got->has_head);
    assert_int_equal(got->head_seq, 77);
    assert_memory_equal(got->head_hash, sent.head_hash, WD_SHA256_BYTES);
    assert_int_equal(got->payload.size, 7);
    assert_true(got->now_ms == sent.now_ms);
    for (size_t size = 0; size < frame.size; size++) { /* prefixes harm nothing */
        uint8_t *owned = NULL;
        WD_AUTO(wd_reply) *part = NULL;
        (void)!wd_reply_decode(exact_copy((wd_span){frame.data, size}, &owned), &part,
                               NULL);
        wd_reply_free(part);
        part = NULL;
        free(owned);
    }
}

static void a_refusal_carries_text_in_utf8_and_no_payload(void **state)
{
    (void)state;
    const wd_reply sent = {
        .code = WD_UNAUTHENTICATED,
        .reason = WD_REASON_TOKEN_MISSING,
        .message = "cut in the middle of \xE2\x82",
        .payload = SPAN("must not leave"),
    };
    WD_AUTO_BUFFER frame = WD_BUFFER_INIT;
    assert_int_equal(wd_reply_encode(&sent, &frame, NULL), WD_OK);
    WD_AUTO(wd_reply) *got = NULL;
    assert_int_equal(wd_reply_decode(wd_buffer_span(&frame), &got, NULL), WD_OK);
    assert_string_equal(got->message, "cut in the middle of \xEF\xBF\xBD");
    assert_int_equal(got->payload.size, 0);
    assert_false(got->has_head);
}

static void a_head_that_comes_twice_is_the_later_one(void **state)
{
    (void)state;
    static const uint8_t frame[] = "\x42\x02\x08\x07\x42\x22\x12\x20"
                                   "0123456789abcdef0123456789abcdef";
    WD_AUTO(wd_reply) *got = NULL;
    assert_int_equal(wd_reply_decode((wd_span){frame, sizeof(frame) - 1}, &got, NULL),
                     WD_OK);
    assert_true(got->has_head);
    assert_int_equal(got->head_seq, 0); /* not the other's beside this one's hash */
    assert_memory_equal(got->head_hash, "0123456789abcdef", 16);
}

static void replies_that_contradict_themselves_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        wd_span bytes;
        wd_reason reason;
    } cases[] = {
        {"code without reason", BYTES("\x10\x03"), WD_REASON_MALFORMED},
        {"reason without code", BYTES("\x18\x03"), WD_REASON_MALFORMED},
        {"code above 32 bits", BYTES("\x10\x80\x80\x80\x80\x10"), WD_REASON_MALFORMED},
        {"message as a number", BYTES("\x20\x03"), WD_REASON_MALFORMED},
        {"head is rubbish", BYTES("\x42\x01\xFF"), WD_REASON_MALFORMED},
        {"hash of three bytes",
         BYTES("\x42\x05\x12\x03"
               "abc"),
         WD_REASON_FIELD_INVALID},
        {"not protobuf", BYTES("\xFF"), WD_REASON_MALFORMED},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        print_message("  %s\n", cases[i].name);
        wd_error err = {.status = WD_OK};
        wd_reply *got = NULL;
        wd_status status = wd_reply_decode(cases[i].bytes, &got, &err);
        expect_refused(status, &err, cases[i].reason);
        assert_null(got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_comes_back_as_it_went),
        cmocka_unit_test(protobuf_reads_what_we_write),
        cmocka_unit_test(field_numbers_are_those_of_the_schema),
        cmocka_unit_test(reasons_are_those_of_the_schema),
        cmocka_unit_test(every_prefix_is_refused_or_harmless),
        cmocka_unit_test(every_flipped_byte_is_harmless),
        cmocka_unit_test(a_later_field_wins_and_unknown_ones_are_skipped),
        cmocka_unit_test(the_call_id_of_a_refused_frame_is_found),
        cmocka_unit_test(a_reply_comes_back_as_it_went),
        cmocka_unit_test(a_refusal_carries_text_in_utf8_and_no_payload),
        cmocka_unit_test(a_head_that_comes_twice_is_the_later_one),
        cmocka_unit_test(replies_that_contradict_themselves_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
