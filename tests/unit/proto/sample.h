/* sample.h - one request with every field, as the tests of the envelope start from it.
 *
 * Threads: one.  Owns: nothing. */
#ifndef WD_TEST_SAMPLE_H
#define WD_TEST_SAMPLE_H

#include "proto/c/envelope.h"
#include "proto/c/uuid.h"

static const wd_metadata sample_metadata[] = {
    {"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
    {"run", "7"},
};

static inline wd_request sample_request(void)
{
    wd_request request = {
        .version = WD_ENVELOPE_VERSION,
        .attempt = 2,
        .method = "/warded.v1.Health/Check",
        .timeout_ms = 1500,
        .token = "wdt1_not-a-real-one",
        .kind = WD_REQUEST_CALL,
        .n_metadata = 2,
        .metadata = sample_metadata,
        .payload = {(const uint8_t *)"\x0A\x03pad", 5},
    };
    bool parsed =
        wd_uuid_parse("017f22e2-79b0-7cc3-98c4-dc0c0c07398f", request.call_id);
    WD_ASSERT(parsed);
    return request;
}

#endif
