#include "proto/c/hostname.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { LABEL_BYTES = 63, NAME_BYTES = 253 };

static bool is_name(const char *text)
{
    static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789-_.";
    const char *label = text;
    size_t size = strcspn(label, ".");
    if (strspn(text, chars) != strlen(text) || strlen(text) > NAME_BYTES)
        return false;
    for (; label[size] == '.'; size = strcspn(label, ".")) {
        if (size == 0 || size > LABEL_BYTES)
            return false;
        label += size + 1;
    }
    return size > 0 && size <= LABEL_BYTES && strspn(label, "0123456789") != size;
}

bool wd_hostname_ok(const char *text)
{
    uint8_t address[16];
    return inet_pton(AF_INET, text, address) == 1 ||
           inet_pton(AF_INET6, text, address) == 1 || is_name(text);
}
