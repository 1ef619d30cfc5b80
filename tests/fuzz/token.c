/* The text of a token: what is minted parses, any other byte in it is found, and no other
 * text gets further than its shape allows. */
#include "store/token.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

/* The input first, then numbers: a byte source that never ends. */
typedef struct source {
    wd_span in;
    uint32_t state;
} source;

static void draw(void *arg, void *bytes, size_t size)
{
    source *s = arg;

    for (size_t i = 0; i < size; i++) {
        bool given = s->in.size > 0;
        ((uint8_t *)bytes)[i] =
            given ? fuzz_byte(&s->in) : (uint8_t)fuzz_next(&s->state);
    }
}

static void check_parsed(const char *text, const wd_token_name *name)
{
    wd_token_kind kind = WD_TOKEN_DATA;

    FUZZ_CHECK(strlen(text) == WD_TOKEN_CHARS);
    FUZZ_CHECK(text[2] == (char)name->kind);
    FUZZ_CHECK(memcmp(text + 5, name->id, WD_TOKEN_ID_CHARS) == 0);
    FUZZ_CHECK(wd_token_id_valid(name->id));
    FUZZ_CHECK(wd_token_kind_parse(wd_token_kind_name(name->kind), &kind));
    FUZZ_CHECK(kind == name->kind);
}

static void check_minted(wd_span in)
{
    static const wd_token_kind kinds[] = {WD_TOKEN_DATA, WD_TOKEN_ADMIN, WD_TOKEN_WRAP,
                                          WD_TOKEN_JOIN};
    wd_token_kind kind = kinds[fuzz_byte(&in) % 4];
    size_t place = fuzz_byte(&in) % WD_TOKEN_CHARS;
    char other = (char)fuzz_byte(&in);
    source s = {in, (uint32_t)place};
    wd_token_text text;
    wd_token_name name;
    uint8_t digest[WD_TOKEN_DIGEST_BYTES], changed[WD_TOKEN_DIGEST_BYTES];

    wd_token_mint(kind, draw, &s, &text);
    FUZZ_CHECK(wd_token_parse(text.chars, &name));
    check_parsed(text.chars, &name);
    FUZZ_CHECK(name.kind == kind);
    wd_token_digest(text.chars, digest);
    if (text.chars[place] == other)
        return;
    text.chars[place] = other;
    FUZZ_CHECK(!wd_token_parse(text.chars, &name)); /* CRC-32 finds any one byte */
    wd_token_digest(text.chars, changed);
    FUZZ_CHECK(memcmp(digest, changed, sizeof(digest)) != 0);
}

static void check_any(wd_span in)
{
    wd_token_name name;
    char *text = fuzz_text(in);

    if (wd_token_parse(text, &name))
        check_parsed(text, &name);
    if (wd_token_id_valid(text))
        FUZZ_CHECK(strlen(text) == WD_TOKEN_ID_CHARS);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wd_span in = {data, size};

    if ((fuzz_byte(&in) & 1) != 0)
        check_minted(in);
    else
        check_any(in);
    return 0;
}
