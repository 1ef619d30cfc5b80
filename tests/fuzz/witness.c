/* A witness's file: each head of it was a line "SEQ HEXHASH", and each such line a head. */
#include "store/tokctl/witness.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/c/cleanup.h"
#include "tests/fuzz/fuzz.h"

static void check_head(const wd_head *head, wd_span file)
{
    char line[96];
    int n = snprintf(line, sizeof(line), "%" PRIu64 " ", head->seq);

    FUZZ_CHECK(head->seq > 0);
    for (size_t i = 0; i < WD_AUDIT_HASH_BYTES; i++)
        n += snprintf(line + n, sizeof(line) - (size_t)n, "%02x", head->hash[i]);
    char *text = fuzz_text(file);
    for (char *c = text; c < text + file.size; c++)
        if (*c >= 'A' && *c <= 'F')
            *c = "abcdef"[*c - 'A'];
    FUZZ_CHECK(memmem(text, file.size, line, (size_t)n) != NULL);
    free(text);
}

static void check_witness(const wd_witness *witness, wd_span file)
{
    size_t lines = 0;

    for (size_t i = 0; i < file.size; i++)
        lines += file.data[i] == '\n';
    FUZZ_CHECK(witness->n <= lines);
    for (size_t i = 0; i < witness->n; i++)
        check_head(&witness->heads[i], file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    wd_witness witness = {0};
    wd_error err = {.status = WD_OK};
    WD_AUTO_FD int fd = memfd_create("witness", MFD_CLOEXEC);

    FUZZ_CHECK(fd >= 0);
    FUZZ_CHECK(size == 0 || write(fd, data, size) == (ssize_t)size);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    wd_status status = wd_witness_read(&witness, path, &err);
    if (status == WD_OK)
        check_witness(&witness, (wd_span){data, size});
    else
        fuzz_check_error(status, &err);
    wd_witness_done(&witness);
    return 0;
}
