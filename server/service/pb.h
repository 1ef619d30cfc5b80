/* pb.h - handing our const text to protobuf-c, which reads it but has no const.
 *
 * Threads: any.  Owns: nothing. */
#ifndef WD_SERVER_SERVICE_PB_H
#define WD_SERVER_SERVICE_PB_H

#include <protobuf-c/protobuf-c.h>
#include <stdint.h>

static inline char *wd_pb_text(const char *text)
{
    static const char none[] = "";
    return (char *)(uintptr_t)(text != NULL ? text : none);
}

static inline ProtobufCBinaryData wd_pb_bytes(const void *data, size_t size)
{
    return (ProtobufCBinaryData){.len = size, .data = (uint8_t *)(uintptr_t)data};
}

#endif
