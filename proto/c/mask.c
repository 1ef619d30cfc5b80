#include "proto/c/mask.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "proto/c/utf8.h"

enum { KIND_CHARS = 5, ID_CHARS = 10 };

/* With "_", so that a token right behind another goes with it. */
static const char run[] = "_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                          "abcdefghijklmnopqrstuvwxyz";
static const char *const letters = run + 11;

/* "wdt1_", in either case; the third may be any letter. */
static bool begins_here(const char *text)
{
    return strncasecmp(text, "wd", 2) == 0 && strspn(text + 2, letters) > 0 &&
           strncmp(text + 3, "1_", 2) == 0;
}

size_t wd_token_here(const char *text)
{
    if (!begins_here(text))
        return 0;
    size_t size = strspn(text + KIND_CHARS, run);
    return size > ID_CHARS ? KIND_CHARS + size : 0;
}

void wd_mask_tokens(char *text)
{
    static const char instead[] = "\u2026";
    char *to = text;
    for (const char *at = text; *at != '\0';) {
        size_t size = wd_token_here(at);
        size_t kept = size > 0 ? KIND_CHARS : 1;
        memmove(to, at, kept);
        to += kept;
        at += size > 0 ? size : 1;
        if (size == 0)
            continue;
        memcpy(to, instead, sizeof(instead) - 1);
        to += sizeof(instead) - 1;
    }
    *to = '\0';
}

const char *wd_shown(const char *text, char ret_text[WD_SHOWN_BYTES])
{
    (void)snprintf(ret_text, WD_SHOWN_BYTES, "%s", text);
    wd_utf8_mend(ret_text);
    wd_mask_tokens(ret_text);
    return ret_text;
}
