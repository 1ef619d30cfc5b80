/* The reply envelope as a C client reads it: round trip, and libprotobuf-c agrees. */
#include <string.h>

#include "proto/c/envelope.h"
#include "tests/fuzz/fuzz.h"
#include "warded/v1/rpc.pb-c.h"

static void check_numbers(const wd_reply *a, const wd_reply *b)
{
    FUZZ_CHECK(fuzz_equal(a->call_id, b->call_id));
    FUZZ_CHECK(a->code == b->code && a->reason == b->reason);
    FUZZ_CHECK(a->retry_after_ms == b->retry_after_ms);
    FUZZ_CHECK(a->now_ms == b->now_ms);
    FUZZ_CHECK(a->has_head == b->has_head);
    FUZZ_CHECK(a->head_seq == b->head_seq);
    FUZZ_CHECK(memcmp(a->head_hash, b->head_hash, WD_SHA256_BYTES) == 0);
}

static void check_same(const wd_reply *a, const wd_reply *b)
{
    check_numbers(a, b);
    FUZZ_CHECK(strcmp(a->message, b->message) == 0);
    FUZZ_CHECK(fuzz_equal(a->detail, b->detail));
    FUZZ_CHECK(a->n_metadata == b->n_metadata);
    for (size_t i = 0; i < a->n_metadata; i++) {
        FUZZ_CHECK(strcmp(a->metadata[i].key, b->metadata[i].key) == 0);
        FUZZ_CHECK(strcmp(a->metadata[i].value, b->metadata[i].value) == 0);
    }
    FUZZ_CHECK(a->code != 0 || fuzz_equal(a->payload, b->payload));
    FUZZ_CHECK(b->code == 0 || b->payload.size == 0);
}

static void check_protobuf_agrees(wd_span frame, const wd_reply *ours)
{
    Warded__V1__Reply *theirs = warded__v1__reply__unpack(NULL, frame.size, frame.data);

    if (theirs == NULL) /* it reads some odd forms of numbers less willingly */
        return;
    fuzz_check_texts(&theirs->base);
    FUZZ_CHECK(theirs->code == ours->code);
    FUZZ_CHECK((uint32_t)theirs->reason == ours->reason);
    FUZZ_CHECK(strcmp(theirs->message, ours->message) == 0);
    FUZZ_CHECK(theirs->n_metadata == ours->n_metadata);
    FUZZ_CHECK((theirs->head != NULL) == ours->has_head);
    if (theirs->head != NULL)
        FUZZ_CHECK(theirs->head->seq == ours->head_seq);
    FUZZ_CHECK(theirs->now_ms == ours->now_ms);
    warded__v1__reply__free_unpacked(theirs, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const wd_span frame = {data, size};
    WD_AUTO_BUFFER bytes = WD_BUFFER_INIT;
    WD_AUTO(wd_reply) *reply = NULL;
    WD_AUTO(wd_reply) *again = NULL;
    wd_error err = {.status = WD_OK};
    wd_status status = wd_reply_decode(frame, &reply, &err);

    if (status != WD_OK) {
        FUZZ_CHECK(reply == NULL);
        fuzz_check_refusal(status, &err);
        return 0;
    }
    check_protobuf_agrees(frame, reply);
    FUZZ_CHECK(wd_reply_encode(reply, &bytes, NULL) == WD_OK);
    FUZZ_CHECK(wd_reply_decode(wd_buffer_span(&bytes), &again, NULL) == WD_OK);
    check_same(reply, again);
    return 0;
}
