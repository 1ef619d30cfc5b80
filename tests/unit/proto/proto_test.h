/* proto_test.h - what the tests of this room share.
 *
 * Threads: one.  Owns: see each function. */
#ifndef WD_PROTO_TEST_H
#define WD_PROTO_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/c/span.h"
#include "proto/c/status.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A span over a string literal, which may hold NULs; BYTES is its initialiser for
 * tables. */
#define BYTES(literal) {(const uint8_t *)(literal), sizeof(literal) - 1}
#define SPAN(literal)                                                                  \
    ((wd_span){.data = (const uint8_t *)(literal), .size = sizeof(literal) - 1})

/* A copy of exactly that size, so that AddressSanitizer sees the first byte read too
 * far. Freed by the caller. */
static inline wd_span exact_copy(wd_span bytes, uint8_t **ret_owned)
{
    uint8_t *copy = malloc(bytes.size > 0 ? bytes.size : 1);
    assert_non_null(copy);
    if (bytes.size > 0)
        memcpy(copy, bytes.data, bytes.size);
    *ret_owned = copy;
    return (wd_span){.data = copy, .size = bytes.size};
}

/* The failure is `reason`, its status belongs to it, and it says something. */
static inline void expect_refused(wd_status status, const wd_error *err,
                                  wd_reason reason)
{
    if (err->reason != reason)
        print_error("expected %s, got %s: %s\n", wd_reason_name(reason),
                    wd_reason_name(err->reason), err->msg);
    assert_int_equal(err->reason, reason);
    assert_int_equal(status, wd_reason_status(reason));
    assert_int_equal(err->status, status);
    assert_true(strlen(err->msg) > 0);
}

#endif
