#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "clients/c/endpoint.h"

static const struct {
    const char *text;
    const char *host; /* NULL: refused */
    uint16_t port;
} endpoints[] = {
    {"gate", "gate", 0},
    {"Gate.Example.", "gate.example", 0},
    {"gate:1", "gate", 1},
    {"gate:65535", "gate", 65535},
    {"tls+tcp://gate:7443", "gate", 7443},
    {"127.0.0.1:7443", "127.0.0.1", 7443},
    {"[::1]:7443", "::1", 7443},
    {"[2001:DB8:0:0::1]", "2001:db8::1", 0},
    {"2001:db8::1", "2001:db8::1", 0},
    {"", NULL, 0},
    {":7443", NULL, 0},
    {"gate:", NULL, 0},
    {"gate:0", NULL, 0},
    {"gate:65536", NULL, 0},
    {"gate:999999999", NULL, 0},
    {"gate:-1", NULL, 0},
    {"gate:7443x", NULL, 0},
    {"[::1", NULL, 0},
    {"[::1]7443", NULL, 0},
    {"http://gate/", NULL, 0},
    {"gate one", NULL, 0},
    {".", NULL, 0},
};

static void endpoints_are_read_in_their_one_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(endpoints) / sizeof(endpoints[0]); i++) {
        wd_endpoint got;
        wd_error err = {0};
        const char *text = endpoints[i].text;
        wd_status status = wd_endpoint_parse(text, strlen(text), &got, &err);
        print_message("%s\n", text);
        if (endpoints[i].host == NULL) {
            assert_int_equal(status, WD_INVALID_ARGUMENT);
            continue;
        }
        assert_int_equal(status, WD_OK);
        assert_string_equal(got.host, endpoints[i].host);
        assert_int_equal(got.port, endpoints[i].port);
    }
}

static void host_of_255_bytes_passes_and_of_256_not(void **state)
{
    (void)state;
    char name[WD_HOST_BYTES + 1];
    wd_endpoint got;
    memset(name, 'a', sizeof(name));
    assert_int_equal(wd_endpoint_parse(name, WD_HOST_BYTES - 1, &got, NULL), WD_OK);
    assert_int_equal(wd_endpoint_parse(name, WD_HOST_BYTES, &got, NULL),
                     WD_INVALID_ARGUMENT);
}

static void server_file_names_whom_to_dial_and_whom_to_expect(void **state)
{
    (void)state;
    wd_servers servers;
    const char *text = "# mine\n\n127.0.0.1:1 as gate.example # a tunnel\r\nother:2";
    assert_int_equal(wd_servers_parse(text, &servers, NULL), WD_OK);
    assert_int_equal(servers.n, 2);
    assert_string_equal(servers.server[0].dial.host, "127.0.0.1");
    assert_string_equal(servers.server[0].expect.host, "gate.example");
    assert_int_equal(servers.server[0].expect.port, WD_ENDPOINT_PORT);
    assert_int_equal(servers.server[1].dial.port, 2);
}

static void server_file_is_refused_with_its_line(void **state)
{
    static const char *const texts[] = {
        "",        "# nothing\n", "a b\n", "a as\n",    "a to b\n",    "a as b c\n",
        "a:0\n",   "a..b\n",      ".a\n",  "127.1:1\n", "1.2.3.256\n", "a.7\n",
        "a as 7\n"};
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        wd_servers servers;
        wd_error err = {0};
        print_message("%s\n", texts[i]);
        assert_int_equal(wd_servers_parse(texts[i], &servers, &err),
                         WD_INVALID_ARGUMENT);
        assert_true(strstr(err.msg, i < 2 ? "names no gate" : "line 1") != NULL);
    }
}

static void servers_of_64_lines_pass_and_of_65_not(void **state)
{
    (void)state;
    char text[(WD_SERVERS_COUNT + 1) * 2 + 1];
    wd_servers servers;
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = "a\n"[i % 2];
    text[sizeof(text) - 3] = '\0';
    assert_int_equal(wd_servers_parse(text, &servers, NULL), WD_OK);
    text[sizeof(text) - 3] = 'a';
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(wd_servers_parse(text, &servers, NULL), WD_INVALID_ARGUMENT);
}

static const struct {
    const char *fact;
    bool covered, malformed;
} facts[] = {
    {"gate:7443", true, false},
    {"gate", true, false},
    {"other gate:1 GATE:7443", true, false},
    {"1 2 3 4 5 6 7 gate", true, false},
    {"gate:7444", false, false},
    {"gate2", false, false},
    {"1 2 3 4 5 6 7 8 gate", false, true},
    {"gate  other", false, true},
    {"", false, true},
    {"http://gate/", false, true},
};

static void certificate_covers_an_endpoint_or_not(void **state)
{
    const wd_endpoint gate = {"gate", 7443};
    (void)state;
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        bool covered = false;
        print_message("%s\n", facts[i].fact);
        wd_status status = wd_endpoint_asserted(facts[i].fact, &gate, &covered, NULL);
        assert_int_equal(status != WD_OK, facts[i].malformed);
        assert_int_equal(covered, facts[i].covered);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endpoints_are_read_in_their_one_form),
        cmocka_unit_test(host_of_255_bytes_passes_and_of_256_not),
        cmocka_unit_test(server_file_names_whom_to_dial_and_whom_to_expect),
        cmocka_unit_test(server_file_is_refused_with_its_line),
        cmocka_unit_test(servers_of_64_lines_pass_and_of_65_not),
        cmocka_unit_test(certificate_covers_an_endpoint_or_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
