/* The request envelope: what decodes is what libprotobuf-c reads in it, and encodes and
 * decodes to the same again. */
#include <string.h>

#include "proto/c/envelope.h"
#include "proto/c/uuid.h"
#include "tests/fuzz/fuzz.h"
#include "warded/v1/rpc.pb-c.h"

static bool same_map(const wd_request *a, const wd_request *b)
{
    for (size_t i = 0; i < a->n_metadata; i++) {
        const char *value = wd_request_metadata(b, a->metadata[i].key);
        if (value == NULL || strcmp(value, a->metadata[i].value) != 0)
            return false;
    }
    return a->n_metadata == b->n_metadata;
}

static void check_same(const wd_request *a, const wd_request *b)
{
    FUZZ_CHECK(a->version == b->version);
    FUZZ_CHECK(memcmp(a->call_id, b->call_id, WD_CALL_ID_BYTES) == 0);
    FUZZ_CHECK(a->attempt == b->attempt);
    FUZZ_CHECK(strcmp(a->method, b->method) == 0);
    FUZZ_CHECK(a->timeout_ms == b->timeout_ms);
    FUZZ_CHECK(strcmp(a->token, b->token) == 0);
    FUZZ_CHECK(a->kind == b->kind);
    FUZZ_CHECK(same_map(a, b));
    FUZZ_CHECK(fuzz_equal(a->payload, b->payload));
}

static void check_bounds(const wd_request *request)
{
    wd_span id = {request->call_id, WD_CALL_ID_BYTES};
    size_t bytes = 0;

    FUZZ_CHECK(request->version == WD_ENVELOPE_VERSION);
    FUZZ_CHECK(wd_uuid7_valid(id));
    FUZZ_CHECK(request->kind <= WD_REQUEST_NEXT);
    FUZZ_CHECK(strlen(request->method) <= WD_METHOD_BYTES);
    FUZZ_CHECK(strlen(request->token) <= WD_TOKEN_BYTES);
    FUZZ_CHECK(request->n_metadata <= WD_METADATA_ENTRIES);
    for (size_t i = 0; i < request->n_metadata; i++)
        bytes += strlen(request->metadata[i].key) + strlen(request->metadata[i].value);
    FUZZ_CHECK(bytes <= WD_METADATA_BYTES);
}

static void check_protobuf_agrees(wd_span frame, const wd_request *ours)
{
    Warded__V1__Request *theirs =
        warded__v1__request__unpack(NULL, frame.size, frame.data);

    if (theirs == NULL) /* as in reply.c */
        return;
    fuzz_check_texts(&theirs->base);
    FUZZ_CHECK(theirs->version == ours->version);
    FUZZ_CHECK(fuzz_equal((wd_span){theirs->call_id.data, theirs->call_id.len},
                          (wd_span){ours->call_id, WD_CALL_ID_BYTES}));
    FUZZ_CHECK(theirs->attempt == ours->attempt);
    FUZZ_CHECK(strcmp(theirs->method, ours->method) == 0);
    FUZZ_CHECK(theirs->timeout_ms == ours->timeout_ms);
    FUZZ_CHECK(strcmp(theirs->token, ours->token) == 0);
    FUZZ_CHECK((unsigned)theirs->kind == ours->kind);
    FUZZ_CHECK(theirs->n_metadata == ours->n_metadata);
    FUZZ_CHECK(fuzz_equal((wd_span){theirs->payload.data, theirs->payload.len},
                          ours->payload));
    warded__v1__request__free_unpacked(theirs, NULL);
}

static void check_round_trip(const wd_request *request)
{
    WD_AUTO_BUFFER bytes = WD_BUFFER_INIT;
    WD_AUTO(wd_request) *again = NULL;

    FUZZ_CHECK(wd_request_encode(request, &bytes, NULL) == WD_OK);
    FUZZ_CHECK(wd_request_decode(wd_buffer_span(&bytes), &again, NULL) == WD_OK);
    check_same(request, again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const wd_span frame = {data, size};
    WD_AUTO(wd_request) *request = NULL;
    uint8_t id[WD_CALL_ID_BYTES];
    wd_error err = {.status = WD_OK};
    wd_status status = wd_request_decode(frame, &request, &err);
    bool peeked = wd_request_peek_call_id(frame, id);

    if (status != WD_OK) {
        FUZZ_CHECK(request == NULL);
        fuzz_check_refusal(status, &err);
        return 0;
    }
    FUZZ_CHECK(peeked && memcmp(id, request->call_id, sizeof(id)) == 0);
    check_bounds(request);
    check_round_trip(request);
    check_protobuf_agrees(frame, request);
    return 0;
}
