/* der.h - a strict reader of DER: definite, shortest lengths; one-byte tags.
 *
 * Private to proto/tls. A reader is a window on bytes; each call takes one element off
 * its front. False means "not there, or not DER": the reader is then left where it was.
 *
 * Threads: any.  Owns: nothing.  Source: X.690 sections 8 and 10. */
#ifndef WD_DER_H
#define WD_DER_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/c/span.h"

enum {
    WD_DER_BOOLEAN = 0x01,
    WD_DER_INTEGER = 0x02,
    WD_DER_BIT_STRING = 0x03,
    WD_DER_OCTET_STRING = 0x04,
    WD_DER_NULL = 0x05,
    WD_DER_OID = 0x06,
    WD_DER_UTF8_STRING = 0x0c,
    WD_DER_UTC_TIME = 0x17,
    WD_DER_GENERALIZED_TIME = 0x18,
    WD_DER_UNIVERSAL_STRING = 0x1c,
    WD_DER_BMP_STRING = 0x1e,
    WD_DER_SEQUENCE = 0x30,
    WD_DER_SET = 0x31,
};

/* Elements within elements, deepest; a certificate needs 9. */
#define WD_DER_DEPTH 16U

/* Whether all of `in` is DER, down to the last element: lengths, and what the universal
 * types may hold. BOOLEAN must be TRUE: those of X.509 are left out when FALSE. What lies
 * inside an OCTET STRING is not looked at. */
bool wd_der_valid(wd_span in);

/* Any element: its tag and content. */
bool wd_der_take_any(wd_span *in, uint8_t *ret_tag, wd_span *ret_content);

/* An element of this tag. */
bool wd_der_take(wd_span *in, uint8_t tag, wd_span *ret_content);

/* The same for an element that need not be there: *ret_content is {NULL, 0} then.
 * False only when there is an element of this tag and it is broken. */
bool wd_der_take_optional(wd_span *in, uint8_t tag, wd_span *ret_content);

/* UTCTime or GeneralizedTime in the forms that RFC 5280 4.1.2.5 allows, as wall-clock
 * ms. */
bool wd_der_take_time(wd_span *in, int64_t *ret_ms);

#endif
