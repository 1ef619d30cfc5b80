/* message_json.h - protobuf messages as JSON, and back, by their descriptors.
 *
 * Two styles. RECORD is how tokctl shows things: every member is there, enums are
 * lower-case words, bytes are hexadecimal digits. PROTO is protobuf's own JSON with the
 * proto's field names: members that have no value are left out, enums are names, bytes
 * are base64. Numbers are numbers in both; above 2^63 - 1 they are strings.
 *
 * Threads: any; pure.  Owns: nothing.
 * Source:  protobuf.dev, "ProtoJSON format". Maps and `oneof`s as plain fields. */
#ifndef WD_TOKCTL_MESSAGE_JSON_H
#define WD_TOKCTL_MESSAGE_JSON_H

#include <jansson.h>
#include <protobuf-c/protobuf-c.h>

#include "proto/c/alloc.h"
#include "proto/c/status.h"

typedef enum wd_json_style { WD_JSON_RECORD, WD_JSON_PROTO } wd_json_style;

/* NULL: no memory, or the message is NULL. */
json_t *wd_message_json(const ProtobufCMessage *message, wd_json_style style);

/* A message of `type` from an object of the style PROTO; names also in camelCase, numbers
 * also as strings, enums also as numbers. It lives in the budget.
 * Errors: INVALID_ARGUMENT: an unknown member, a wrong value; the text names it.
 *         RESOURCE_EXHAUSTED */
WD_MUST_USE wd_status wd_message_of_json(const json_t *object,
                                         const ProtobufCMessageDescriptor *type,
                                         wd_budget *budget, ProtobufCMessage **ret,
                                         wd_error *err);

/* Bytes of one element of a repeated field. */
size_t wd_message_element_size(ProtobufCType type);

/* The type as text for people: `name: type`, a line a field, nested ones indented. */
char *wd_message_describe(const ProtobufCMessageDescriptor *type);

#endif
