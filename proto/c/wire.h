/* wire.h - protobuf's wire format: fields one by one, without a schema.
 *
 *     wd_wire_reader in = wd_wire_read(bytes);
 *     while (wd_wire_next(&in, &field)) ...
 *     if (in.bad) ...                          not protobuf
 *
 * Threads: any; a reader has one owner.  Owns: nothing; fields point into the bytes.
 * Source:  protobuf.dev, "Encoding". Groups (wire types 3 and 4) are not read. */
#ifndef WD_WIRE_H
#define WD_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/c/buffer.h"
#include "proto/c/span.h"
#include "proto/c/status.h"

typedef enum wd_wire_type {
    WD_WIRE_VARINT = 0,
    WD_WIRE_FIXED64 = 1,
    WD_WIRE_BYTES = 2,
    WD_WIRE_FIXED32 = 5,
} wd_wire_type;

typedef struct wd_wire_field {
    uint32_t number; /* 1..2^29-1 */
    wd_wire_type type;
    uint64_t value; /* of the three numeric types */
    wd_span bytes;  /* of WD_WIRE_BYTES; data is never NULL */
} wd_wire_field;

typedef struct wd_wire_reader {
    wd_span rest;
    bool bad; /* what follows is not a field; set once, for good */
} wd_wire_reader;

wd_wire_reader wd_wire_read(wd_span bytes);

/* The next field. false: the end, or `bad`. */
WD_MUST_USE bool wd_wire_next(wd_wire_reader *reader, wd_wire_field *ret_field);

/* Takes a number from the front of `rest`: one of a list that came packed. false: there
 * is none, or it has more than 64 bits. */
WD_MUST_USE bool wd_wire_take_number(wd_span *rest, uint64_t *ret);

/* Append a field; as proto3 has it, nothing for 0 and for empty bytes. false: out of
 * memory. wd_wire_put_part also writes empty bytes: for submessages. */
WD_MUST_USE bool wd_wire_put_number(wd_buffer *out, uint32_t field, uint64_t value);
WD_MUST_USE bool wd_wire_put_bytes(wd_buffer *out, uint32_t field, wd_span bytes);
WD_MUST_USE bool wd_wire_put_part(wd_buffer *out, uint32_t field, wd_span bytes);

#endif
