/* What a request may not be: each rule with its neighbours on both sides. */
#include "proto/c/envelope_parts.h"
#include "tests/unit/proto/proto_test.h"
#include "tests/unit/proto/sample.h"

/* The sample with one field changed by `change`, decoded. */
static wd_status decode(const wd_request *request, wd_error *err)
{
    WD_AUTO_BUFFER frame = WD_BUFFER_INIT;
    assert_int_equal(wd_request_encode(request, &frame, NULL), WD_OK);
    WD_AUTO(wd_request) *got = NULL;
    return wd_request_decode(wd_buffer_span(&frame), &got, err);
}

static void expect(const wd_request *request, wd_reason reason)
{
    wd_error err = {.status = WD_OK};
    wd_status status = decode(request, &err);
    if (reason == WD_REASON_NONE)
        assert_int_equal(status, WD_OK);
    else
        expect_refused(status, &err, reason);
}

static char *text_of(size_t size)
{
    char *text = malloc(size + 1);
    assert_non_null(text);
    memset(text, 'x', size);
    text[size] = '\0';
    return text;
}

static void version_is_one(void **state)
{
    (void)state;
    static const uint32_t versions[] = {0, 2, UINT32_MAX};
    for (size_t i = 0; i < COUNT(versions); i++) {
        wd_request request = sample_request();
        request.version = versions[i];
        expect(&request, WD_REASON_FIELD_INVALID);
    }
}

static void kinds_are_three(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 5; kind++) {
        wd_request request = sample_request();
        request.kind = (wd_request_kind)kind;
        expect(&request, kind <= 2 ? WD_REASON_NONE : WD_REASON_FIELD_INVALID);
    }
}

static void only_a_call_needs_a_method(void **state)
{
    (void)state;
    wd_request request = sample_request();
    request.method = "";
    expect(&request, WD_REASON_FIELD_INVALID);
    request.kind = WD_REQUEST_CANCEL;
    expect(&request, WD_REASON_NONE);
    request.kind = WD_REQUEST_NEXT;
    expect(&request, WD_REASON_NONE);
}

static void a_request_may_lack_token_and_metadata(void **state)
{
    (void)state;
    wd_request request = sample_request();
    request.token = "";
    request.n_metadata = 0;
    request.payload.size = 0;
    expect(&request, WD_REASON_NONE);
}

static void method_and_token_have_their_sizes(void **state)
{
    (void)state;
    for (size_t size = 254; size <= 256; size++) {
        WD_AUTO(wd_text) *text = text_of(size);
        wd_request request = sample_request();
        request.method = text;
        expect(&request,
               size <= WD_METHOD_BYTES ? WD_REASON_NONE : WD_REASON_FIELD_INVALID);
        request = sample_request();
        request.token = text;
        expect(&request,
               size <= WD_TOKEN_BYTES ? WD_REASON_NONE : WD_REASON_TOKEN_MALFORMED);
    }
}

static void call_ids_are_sixteen_bytes_of_version_seven(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        wd_span id;
        wd_reason reason;
    } cases[] = {
        {"good",
         BYTES("\1\x7f\x22\xe2\x79\xb0\x7c\xc3\x98\xc4\xdc\x0c\x0c\x07\x39\x8f"),
         WD_REASON_NONE},
        {"empty", BYTES(""), WD_REASON_FIELD_INVALID},
        {"15 bytes",
         BYTES("\1\x7f\x22\xe2\x79\xb0\x7c\xc3\x98\xc4\xdc\x0c\x0c\x07\x39"),
         WD_REASON_FIELD_INVALID},
        {"17 bytes",
         BYTES("\1\x7f\x22\xe2\x79\xb0\x7c\xc3\x98\xc4\xdc\x0c\x0c\x07\x39\x8f\1"),
         WD_REASON_FIELD_INVALID},
        {"version 4",
         BYTES("\1\x7f\x22\xe2\x79\xb0\x4c\xc3\x98\xc4\xdc\x0c\x0c\x07\x39\x8f"),
         WD_REASON_FIELD_INVALID},
        {"variant 0",
         BYTES("\1\x7f\x22\xe2\x79\xb0\x7c\xc3\x18\xc4\xdc\x0c\x0c\x07\x39\x8f"),
         WD_REASON_FIELD_INVALID},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        print_message("  %s\n", cases[i].name);
        wd_request sample = sample_request();
        WD_AUTO_BUFFER frame = WD_BUFFER_INIT;
        assert_int_equal(wd_request_encode(&sample, &frame, NULL), WD_OK);
        assert_true(wd_wire_put_part(&frame, WD_FIELD_REQUEST_CALL_ID, cases[i].id));
        WD_AUTO(wd_request) *got = NULL;
        wd_error err = {.status = WD_OK};
        wd_status status = wd_request_decode(wd_buffer_span(&frame), &got, &err);
        if (cases[i].reason == WD_REASON_NONE)
            assert_int_equal(status, WD_OK);
        else
            expect_refused(status, &err, cases[i].reason);
    }
}

/* Fields that no encoder of ours would write, appended to the sample. */
static const struct {
    const char *name;
    wd_span tail;
    wd_reason reason;
} tails[] = {
    {"version as bytes", BYTES("\x0A\x01x"), WD_REASON_MALFORMED},
    {"version above 32 bits", BYTES("\x08\x81\x80\x80\x80\x10"), WD_REASON_MALFORMED},
    {"call_id as a number", BYTES("\x10\x01"), WD_REASON_MALFORMED},
    {"method as a number", BYTES("\x20\x01"), WD_REASON_MALFORMED},
    {"timeout as fixed64", BYTES("\x29\0\0\0\0\0\0\0\0"), WD_REASON_MALFORMED},
    {"payload as a number", BYTES("\x48\x01"), WD_REASON_MALFORMED},
    {"metadata as a number", BYTES("\x40\x01"), WD_REASON_MALFORMED},
    {"kind 3", BYTES("\x38\x03"), WD_REASON_FIELD_INVALID},
    {"kind 2^32, which cut to 32 bits would be a call",
     BYTES("\x38\x80\x80\x80\x80\x10"), WD_REASON_FIELD_INVALID},
    {"method overlong slash", BYTES("\x22\x02\xC0\xAF"), WD_REASON_MALFORMED},
    {"method surrogate", BYTES("\x22\x03\xED\xA0\x80"), WD_REASON_MALFORMED},
    {"token F5", BYTES("\x32\x04\xF5\x80\x80\x80"), WD_REASON_MALFORMED},
    {"token cut off", BYTES("\x32\x02\xE2\x82"), WD_REASON_MALFORMED},
    {"method with a NUL", BYTES("\x22\x03/\0x"), WD_REASON_FIELD_INVALID},
    {"token with a NUL", BYTES("\x32\x03w\0x"), WD_REASON_FIELD_INVALID},
    {"metadata rubbish", BYTES("\x42\x01\xFF"), WD_REASON_MALFORMED},
    {"metadata value not UTF-8", BYTES("\x42\x06\x0A\x01k\x12\x01\xFF"),
     WD_REASON_MALFORMED},
    {"metadata value with a NUL", BYTES("\x42\x06\x0A\x01k\x12\x01\0"),
     WD_REASON_FIELD_INVALID},
    {"metadata without a key", BYTES("\x42\x03\x12\x01v"), WD_REASON_FIELD_INVALID},
    {"metadata key in capitals", BYTES("\x42\x03\x0A\x01K"), WD_REASON_FIELD_INVALID},
    {"metadata key with a space", BYTES("\x42\x05\x0A\x03k k"),
     WD_REASON_FIELD_INVALID},
    {"metadata key twice",
     BYTES("\x42\x08\x0A\x03run\x12\x01"
           "8"),
     WD_REASON_FIELD_INVALID},
    {"a new metadata key",
     BYTES("\x42\x08\x0A\x03ru2\x12\x01"
           "8"),
     WD_REASON_NONE},
    {"metadata key without a value", BYTES("\x42\x03\x0A\x01k"), WD_REASON_NONE},
    {"group", BYTES("\x0B\x0C"), WD_REASON_MALFORMED},
    {"half a field", BYTES("\x22\x05/x"), WD_REASON_MALFORMED},
};

static void odd_fields_have_their_verdicts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(tails); i++) {
        print_message("  %s\n", tails[i].name);
        wd_request sample = sample_request();
        WD_AUTO_BUFFER frame = WD_BUFFER_INIT;
        assert_int_equal(wd_request_encode(&sample, &frame, NULL), WD_OK);
        assert_true(wd_buffer_append(&frame, tails[i].tail.data, tails[i].tail.size));
        WD_AUTO(wd_request) *got = NULL;
        wd_error err = {.status = WD_OK};
        wd_status status = wd_request_decode(wd_buffer_span(&frame), &got, &err);
        if (tails[i].reason == WD_REASON_NONE)
            assert_int_equal(status, WD_OK);
        else
            expect_refused(status, &err, tails[i].reason);
    }
}

static void metadata_entries_are_sixty_four(void **state)
{
    (void)state;
    char keys[WD_METADATA_ENTRIES + 1][8];
    wd_metadata entries[WD_METADATA_ENTRIES + 1];
    for (size_t i = 0; i < COUNT(entries); i++) {
        (void)snprintf(keys[i], sizeof(keys[i]), "k%zu", i);
        entries[i] = (wd_metadata){.key = keys[i], .value = ""};
    }
    for (size_t n = WD_METADATA_ENTRIES - 1; n <= WD_METADATA_ENTRIES + 1; n++) {
        wd_request request = sample_request();
        request.metadata = entries;
        request.n_metadata = n;
        expect(&request,
               n <= WD_METADATA_ENTRIES ? WD_REASON_NONE : WD_REASON_TOO_LARGE);
    }
}

static void metadata_bytes_are_eight_kibibytes(void **state)
{
    (void)state;
    for (size_t bytes = WD_METADATA_BYTES - 1; bytes <= WD_METADATA_BYTES + 1;
         bytes++) {
        WD_AUTO(wd_text) *value = text_of(bytes - 3); /* beside its key of 3 */
        wd_metadata entry = {.key = "big", .value = value};
        wd_request request = sample_request();
        request.metadata = &entry;
        request.n_metadata = 1;
        expect(&request,
               bytes <= WD_METADATA_BYTES ? WD_REASON_NONE : WD_REASON_TOO_LARGE);
    }
}

static void metadata_keys_are_up_to_sixty_four_characters(void **state)
{
    (void)state;
    for (size_t size = 63; size <= 65; size++) {
        WD_AUTO(wd_text) *key = text_of(size);
        wd_metadata entry = {.key = key, .value = "v"};
        wd_request request = sample_request();
        request.metadata = &entry;
        request.n_metadata = 1;
        expect(&request, size <= WD_METADATA_KEY_BYTES ? WD_REASON_NONE
                                                       : WD_REASON_FIELD_INVALID);
    }
}

static void a_frame_is_up_to_sixteen_mebibytes(void **state)
{
    (void)state;
    wd_request request = sample_request();
    request.payload.size = 0;
    WD_AUTO_BUFFER empty = WD_BUFFER_INIT;
    assert_int_equal(wd_request_encode(&request, &empty, NULL), WD_OK);
    size_t head = empty.size + 1 + 4; /* tag and length of the payload */
    WD_AUTO(wd_text) *payload = text_of(WD_FRAME_BYTES);
    for (size_t size = WD_FRAME_BYTES - 1; size <= WD_FRAME_BYTES + 1; size++) {
        request.payload = (wd_span){(const uint8_t *)payload, size - head};
        expect(&request, size <= WD_FRAME_BYTES ? WD_REASON_NONE : WD_REASON_TOO_LARGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_is_one),
        cmocka_unit_test(kinds_are_three),
        cmocka_unit_test(only_a_call_needs_a_method),
        cmocka_unit_test(a_request_may_lack_token_and_metadata),
        cmocka_unit_test(method_and_token_have_their_sizes),
        cmocka_unit_test(call_ids_are_sixteen_bytes_of_version_seven),
        cmocka_unit_test(odd_fields_have_their_verdicts),
        cmocka_unit_test(metadata_entries_are_sixty_four),
        cmocka_unit_test(metadata_bytes_are_eight_kibibytes),
        cmocka_unit_test(metadata_keys_are_up_to_sixty_four_characters),
        cmocka_unit_test(a_frame_is_up_to_sixteen_mebibytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
