/* fuzz.h - what the fuzz targets share: input taken apart, and properties that must hold.
 *
 * A target is one file with LLVMFuzzerTestOneInput. It may be given any bytes, and fails
 * by FUZZ_CHECK, a sanitizer's finding, a time limit or a memory limit.
 *
 * Threads: one.  Source: llvm.org/docs/LibFuzzer.html. */
#ifndef WD_FUZZ_H
#define WD_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "proto/c/span.h"
#include "proto/c/status.h"

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name for it */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property of the code under test. */
#define FUZZ_CHECK(cond) ((cond) ? (void)0 : fuzz_broken(#cond, __FILE__, __LINE__))
_Noreturn void fuzz_broken(const char *cond, const char *file, int line);

/* Take the input apart from its front; what is not there is 0 or empty. */
uint8_t fuzz_byte(wd_span *in);
uint32_t fuzz_u32(wd_span *in);
wd_span fuzz_bytes(wd_span *in, size_t size);

/* Up to the next newline, which is dropped; else all that is left. */
wd_span fuzz_line(wd_span *in);

/* A copy with a NUL behind it: freed by free(), never NULL. */
char *fuzz_text(wd_span bytes);

/* Numbers that follow from *state alone: how a stream is cut. */
uint32_t fuzz_next(uint32_t *state);

bool fuzz_equal(wd_span a, wd_span b);

/* A failure says why, in UTF-8, and its reason is one of its status. */
void fuzz_check_error(wd_status status, const wd_error *err);

/* As above, and the failure is a call's: it has a reason. */
void fuzz_check_refusal(wd_status status, const wd_error *err);

/* Every string in the message and below it is UTF-8. */
void fuzz_check_texts(const ProtobufCMessage *message);

#endif
