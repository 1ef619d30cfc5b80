/* frame.h - messages on the job socket: 32-bit big-endian length, then that many bytes.
 *
 *     feed what recv() gave; then take frames until there is none:
 *         WD_TRY(wd_frame_feed(reader, bytes, err));
 *         while (wd_frame_next(reader, &frame)) ...
 *
 * Threads: one owner at a time.  Owns: the reader its buffer; it does no I/O.
 * Source:  proto/warded/exec/v1/job.proto. */
#ifndef WD_FRAME_H
#define WD_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

#include "proto/c/buffer.h"
#include "proto/c/cleanup.h"
#include "proto/c/span.h"
#include "proto/c/status.h"

#define WD_FRAME_HEAD_BYTES 4U

typedef struct wd_frame_reader wd_frame_reader;

/* For frames of up to `max_bytes`. Memory grows with what has arrived, never with what
 * a length announces. NULL: out of memory. */
WD_MUST_USE wd_frame_reader *wd_frame_reader_new(size_t max_bytes);
void wd_frame_reader_free(wd_frame_reader *reader);
WD_DEFINE_AUTO(wd_frame_reader, wd_frame_reader_free)

/* Takes in bytes as they arrived, in any cut. After a failure the stream is lost: close
 * the socket.
 * Errors: TOO_LARGE (a length above max_bytes), CAPACITY (out of memory). */
WD_MUST_USE wd_status wd_frame_feed(wd_frame_reader *reader, wd_span bytes,
                                    wd_error *err);

/* The next whole frame; valid until the next call with this reader. false: none yet. */
WD_MUST_USE bool wd_frame_next(wd_frame_reader *reader, wd_span *ret_frame);

/* Appends one frame with `message` in it.
 * Errors: TOO_LARGE (above max_bytes; `out` is unchanged), CAPACITY (out of memory). */
WD_MUST_USE wd_status wd_frame_append(wd_buffer *out, const ProtobufCMessage *message,
                                      size_t max_bytes, wd_error *err);

#endif
