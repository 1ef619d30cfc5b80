/* output.h - what an action wrote, made text that protobuf can carry.
 *
 * Bytes that are not UTF-8 become U+FFFD, and so does NUL, which protobuf-c's strings
 * can't hold. Where the executor cut a stream into head and tail, and where we cut it
 * further to fit a reply, no character is split.
 *
 * Threads: any; pure. */
#ifndef WD_SERVER_SERVICE_OUTPUT_H
#define WD_SERVER_SERVICE_OUTPUT_H

#include "proto/c/alloc.h"
#include "proto/c/span.h"
#include "warded/exec/v1/job.pb-c.h"

#include <stdint.h>

/* head_bytes + tail_bytes is the text's length; when nothing was cut the tail is 0. */
typedef struct wd_output {
    const char *text;        /* in the budget */
    uint64_t original_bytes; /* of the text, had nothing been cut: what we see of the
                                stream as it is in the text, the rest as it was written */
    uint64_t head_bytes;
    uint64_t tail_bytes;
    bool cut;       /* by the executor or by us */
    bool shortened; /* by us */
} wd_output;

/* `keep` bytes of the text at most. *ret is an empty text when there was no output.
 * Errors: RESOURCE_EXHAUSTED CAPACITY: the budget is spent */
WD_MUST_USE wd_status wd_output_make(const Warded__Exec__V1__Output *from, size_t keep,
                                     wd_budget *budget, wd_output *ret, wd_error *err);

/* The most that wd_output_make may take from its budget for this output. */
size_t wd_output_bound(const Warded__Exec__V1__Output *from);

#endif
