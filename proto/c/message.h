/* message.h - protobuf messages from strangers, decoded within bounds.
 *
 * protobuf-c checks neither UTF-8 nor embedded NULs (which would cut a string short)
 * nor how much memory a message takes; this does.
 *
 * Threads: any.  Owns: a decoded message lives in its budget. */
#ifndef WD_MESSAGE_H
#define WD_MESSAGE_H

#include <protobuf-c/protobuf-c.h>

#include "proto/c/alloc.h"
#include "proto/c/buffer.h"
#include "proto/c/span.h"
#include "proto/c/status.h"

/* Messages within messages, deepest. Ours need 4; the plugin refuses recursive types. */
#define WD_MESSAGE_DEPTH 32U

/* Decodes `bytes` as a message of type `type`. Every string in it is then UTF-8 without
 * a NUL. Freed by wd_budget_free(budget), in no other way. Enums may still hold numbers
 * that have no name: check them where they are used.
 * Errors: MALFORMED (not protobuf, wrong wire type, not UTF-8, too deep, a number that
 *         needs more than the 32 bits of its field);
 *         FIELD_INVALID (a NUL inside a string); the text names the field.
 *         TOO_LARGE (the budget is spent). */
WD_MUST_USE wd_status wd_message_decode(const ProtobufCMessageDescriptor *type,
                                        wd_span bytes, wd_budget *budget,
                                        ProtobufCMessage **ret_message, wd_error *err);

/* As wd_message_decode, for what a client asks: an enum has one of its values.
 * Errors: as wd_message_decode; FIELD_INVALID (an enum's number that has no name). */
WD_MUST_USE wd_status wd_message_decode_request(const ProtobufCMessageDescriptor *type,
                                                wd_span bytes, wd_budget *budget,
                                                ProtobufCMessage **ret_message,
                                                wd_error *err);

/* A text inside one element of a repeated message that is no text. */
typedef struct wd_text_fault {
    struct wd_text_fault *next; /* a later one; NULL: none */
    size_t element;             /* which one, from 0 */
    const char *field;          /* the element's field that it stands in; static */
    wd_span text;               /* as it came, in the bytes that were decoded */
    wd_reason reason;           /* MALFORMED or FIELD_INVALID, as above */
    const char *message;        /* for people; in the budget */
} wd_text_fault;

typedef struct wd_listed {
    ProtobufCMessage *message;
    wd_text_fault *faults; /* in their order; NULL: there is none */
} wd_listed;

/* The field of a request whose elements stand for themselves. */
#define WD_MESSAGE_LIST "items"

/* As wd_message_decode_request, for a message with a repeated WD_MESSAGE_LIST: a text
 * inside an element that is not UTF-8 or has a NUL is that element's fault alone. What is
 * decoded has '?' for each byte of such a text: whoever asks for this must look at the
 * faults. A message without that list has none.
 * Errors: as wd_message_decode_request */
WD_MUST_USE wd_status wd_message_decode_list(const ProtobufCMessageDescriptor *type,
                                             wd_span bytes, wd_budget *budget,
                                             wd_listed *ret, wd_error *err);

/* The part of wd_message_decode that comes before memory is taken: for those who unpack
 * what a part of Warded itself has sent.
 * Errors: MALFORMED, FIELD_INVALID as above; a field may still have another wire type */
WD_MUST_USE wd_status wd_message_check(const ProtobufCMessageDescriptor *type,
                                       wd_span bytes, wd_error *err);

/* Appends the encoded message.
 * Errors: CAPACITY (out of memory; `out` is unchanged). */
WD_MUST_USE wd_status wd_message_encode(const ProtobufCMessage *message, wd_buffer *out,
                                        wd_error *err);

#endif
