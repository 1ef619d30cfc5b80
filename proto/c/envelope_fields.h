/* envelope_fields.h - the field numbers of rpc.proto, for the codec that reads by hand.
 *
 * A unit test compares each with the descriptor that protoc-c made of rpc.proto.
 * Threads: any.  Source: proto/warded/v1/rpc.proto. */
#ifndef WD_ENVELOPE_FIELDS_H
#define WD_ENVELOPE_FIELDS_H

enum {
    WD_FIELD_REQUEST_VERSION = 1,
    WD_FIELD_REQUEST_CALL_ID = 2,
    WD_FIELD_REQUEST_ATTEMPT = 3,
    WD_FIELD_REQUEST_METHOD = 4,
    WD_FIELD_REQUEST_TIMEOUT_MS = 5,
    WD_FIELD_REQUEST_TOKEN = 6,
    WD_FIELD_REQUEST_KIND = 7,
    WD_FIELD_REQUEST_METADATA = 8,
    WD_FIELD_REQUEST_PAYLOAD = 9,
};

enum {
    WD_FIELD_REPLY_CALL_ID = 1,
    WD_FIELD_REPLY_CODE = 2,
    WD_FIELD_REPLY_REASON = 3,
    WD_FIELD_REPLY_MESSAGE = 4,
    WD_FIELD_REPLY_RETRY_AFTER_MS = 5,
    WD_FIELD_REPLY_DETAIL = 6,
    WD_FIELD_REPLY_METADATA = 7,
    WD_FIELD_REPLY_HEAD = 8,
    WD_FIELD_REPLY_PAYLOAD = 9,
    WD_FIELD_REPLY_NOW_MS = 10,
};

enum { WD_FIELD_HEAD_SEQ = 1, WD_FIELD_HEAD_HASH = 2 };
enum { WD_FIELD_MAP_KEY = 1, WD_FIELD_MAP_VALUE = 2 };

#endif
