/* Settings that could never match or be used: refused, so that nobody relies on them. */
#include "tests/unit/admin/config_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *name;
    const char *text;
    const char *line; /* ":N: " */
    const char *key;
    const char *says;
} refusals[] = {
    {"an address of three numbers", "listen:\n  url: tls+tcp://127.0.1:1\n",
     ":2: ", "listen.url", "tls+tcp://HOST:PORT"},
    {"an address out of range", "listen:\n  url: tls+tcp://127.0.0.256:1\n",
     ":2: ", "listen.url", "tls+tcp://HOST:PORT"},
    {"no IPv6 address", "listen:\n  url: 'tls+tcp://[::1::]:1'\n", ":2: ", "listen.url",
     "tls+tcp://HOST:PORT"},
    {"a name in brackets", "listen:\n  url: 'tls+tcp://[gate]:1'\n",
     ":2: ", "listen.url", "tls+tcp://HOST:PORT"},
    {"a name with an empty label", "listen:\n  url: tls+tcp://a..b:1\n",
     ":2: ", "listen.url", "tls+tcp://HOST:PORT"},
    {"a word that nothing is called", "audit:\n  redact:\n    - token\n    - api key\n",
     ":4: ", "audit.redact", "would redact nothing"},
    {"a tag with its marks", "tools:\n  - name: a\n  - name: b\n    tags: [py, <py>]\n",
     ":4: ", "tools[1].tags", "no block has such a tag"},
    {"a tag of 65 bytes",
     "tools:\n  - name: a\n    tags:\n      - py\n      - "
     "t234567890123456789012345678901234567890123456789012345678901234x\n",
     ":5: ", "tools[0].tags", "1 to 64 bytes"},
};

static void what_could_never_match_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        WD_AUTO(wd_config) *c = NULL;
        wd_error err = {0};
        wd_status status = config_of(refusals[i].text, &c, &err);
        print_message("%s: %s\n", refusals[i].name, err.msg);
        assert_int_equal(status, WD_INVALID_ARGUMENT);
        assert_non_null(strstr(err.msg, refusals[i].line));
        assert_non_null(strstr(err.msg, refusals[i].key));
        assert_non_null(strstr(err.msg, refusals[i].says));
    }
}

static void what_is_at_the_bound_passes(void **state)
{
    static const char *const texts[] = {
        "listen: {url: 'tls+tcp://*:0'}", "listen: {url: 'tls+tcp://gate-1.a_b:1'}",
        "listen: {url: 'tls+tcp://[::1]:1'}", "listen: {url: tls+tcp://1.2.3.4:1}",
        "audit: {redact: [api_key, x-y, A1]}"};
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        WD_AUTO(wd_config) *c = NULL;
        print_message("%s\n", texts[i]);
        assert_int_equal(config_of(texts[i], &c, NULL), WD_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_could_never_match_is_refused),
        cmocka_unit_test(what_is_at_the_bound_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
