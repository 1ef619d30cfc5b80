#include "tests/bench/rows.h"

#include <stdio.h>

#define ACTIONS 64U /* of a trajectory */

wd_audit_row wd_bench_row(uint64_t i, wd_bench_texts *texts)
{
    const bool begins = i % 2 == 0;
    (void)snprintf(texts->call, sizeof(texts->call), "019acf3c-7a10-7e3b-9f6d-%012llx",
                   (unsigned long long)(i / 2));
    (void)snprintf(texts->trajectory, sizeof(texts->trajectory), "trajectory-%llu",
                   (unsigned long long)(i / 2 / ACTIONS));
    return (wd_audit_row){
        .event = begins ? "call.begin" : "call.end",
        .outcome = begins ? NULL : "ok",
        .principal = "spiffe://warded.local/ns/default/owner/ann/client/trainer",
        .token_id = "0123456789",
        .peer_cert = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        .peer_addr = "127.0.0.1:43210",
        .method = "/warded.v1.Observation/GetObservation",
        .scope = "observe:python_code",
        .trajectory_id = texts->trajectory,
        .call_id = texts->call,
        .trace_id = "4bf92f3577b34da6a3ce929d0e0e4736",
        .duration_us = begins ? 0 : 1234,
        .bytes_in = 400,
        .bytes_out = begins ? 0 : 200,
        .digest = "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210",
        .tool = "python_code",
        .owner = "ann",
        .family = "0123456789",
        .pool = "default",
    };
}
