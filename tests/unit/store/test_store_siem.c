/* Rows as others' formats have them: ECS and CEF, whatever is in the texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "proto/c/clock.h"
#include "store/audit_address.h"
#include "tests/unit/store/export_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const wd_audit_row sample = {
    .seq = 7,
    .chain_id = "chain",
    .wall_ms = 1800000000123,
    .event = "call.end",
    .outcome = "refused",
    .code = 16,
    .reason = "TOKEN_REVOKED",
    .principal = "spiffe://x/y",
    .owner = "ann",
    .token_id = "0123456789",
    .peer_addr = "127.0.0.1:40112",
    .peer_cert = "ab01",
    .method = "/a.B/C",
    .call_id = "call",
    .trace_id = "trace",
    .duration_us = 5,
    .bytes_in = 3,
    .bytes_out = 4,
    .hash = {0xab},
};

/* --- addresses ------------------------------------------------------------------------ */

static void an_address_is_parted_or_none(void **state)
{
    static const struct {
        const char *text, *ip;
        int port;
        bool parts, v6;
    } cases[] = {
        {"192.0.2.7:1", "192.0.2.7", 1, true, false},
        {"192.0.2.7:65535", "192.0.2.7", 65535, true, false},
        {"[2001:db8::1]:40112", "2001:db8::1", 40112, true, true},
        {"[::]:0", "::", 0, true, true},
        {.text = "192.0.2.7:65536"},
        {.text = "192.0.2.7:000001"},
        {.text = "192.0.2.7:"},
        {.text = "192.0.2.7:1x"},
        {.text = "192.0.2.7"},
        {.text = "192.0.2.256:1"},
        {.text = "2001:db8::1"},
        {.text = "2001:db8::1:80"},
        {.text = "[192.0.2.7]:1"},
        {.text = "[::1]1"},
        {.text = "[::1]"},
        {.text = "[::1"},
        {.text = "[]:1"},
        {.text = "[fe80::1%eth0]:1"},
        {.text = ":1"},
        {.text = "localhost:1"},
        {.text = "?"},
        {.text = ""},
        {.text = "[1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb]:1"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        wd_address got;
        print_message("  %s\n", cases[i].text);
        assert_int_equal(wd_address_part(cases[i].text, &got), cases[i].parts);
        if (!cases[i].parts)
            continue;
        assert_string_equal(got.ip, cases[i].ip);
        assert_int_equal(got.port, cases[i].port);
        assert_int_equal(got.v6, cases[i].v6);
    }
}

static void a_time_is_text_between_1970_and_9999(void **state)
{
    static const struct {
        int64_t ms;
        const char *text; /* "": none */
    } cases[] = {{INT64_MIN, ""},
                 {-1, ""},
                 {0, "1970-01-01T00:00:00.000Z"},
                 {1800000000123, "2027-01-15T08:00:00.123Z"},
                 {253402300799999, "9999-12-31T23:59:59.999Z"},
                 {253402300800000, ""},
                 {INT64_MAX, ""}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[WD_UTC_BYTES] = "x";
        assert_int_equal(wd_clock_format(cases[i].ms, text), cases[i].text[0] != '\0');
        assert_string_equal(text, cases[i].text);
    }
}

/* --- ECS ------------------------------------------------------------------------------ */

/* "source.ip" of a document; "" when it is not there. */
static const char *told(const json_t *document, const char *path)
{
    static char number[24];
    const json_t *at = document;
    char name[64];
    for (const char *rest = path; at != NULL && rest != NULL;) {
        const size_t size = strcspn(rest, ".");
        (void)snprintf(name, sizeof(name), "%.*s", (int)size, rest);
        at = json_object_get(at, name);
        rest = rest[size] == '.' ? rest + size + 1 : NULL;
    }
    if (json_is_integer(at)) {
        (void)snprintf(number, sizeof(number), "%lld",
                       (long long)json_integer_value(at));
        return number;
    }
    return json_is_string(at) ? json_string_value(at) : "";
}

static json_t *document_of(const wd_audit_row *row)
{
    WD_AUTO_BUFFER out = WD_BUFFER_INIT;
    json_t *document = json_loads(wd_export_line(WD_EXPORT_ECS, row, &out), 0, NULL);
    assert_non_null(document);
    return document;
}

static void claim_07_fields_of_ecs_are_where_elastic_has_them(void **state)
{
    static const char *const fields[][2] = {
        {"@timestamp", "2027-01-15T08:00:00.123Z"},
        {"ecs.version", "8.11.0"},
        {"event.kind", "event"},
        {"event.action", "call.end"},
        {"event.outcome", "failure"},
        {"event.reason", "TOKEN_REVOKED"},
        {"event.sequence", "7"},
        {"event.id", "chain-7"},
        {"event.duration", "5000"}, /* nanoseconds */
        {"event.dataset", "warded.audit"},
        {"error.code", "16"},
        {"error.type", "TOKEN_REVOKED"},
        {"source.address", "127.0.0.1:40112"},
        {"source.ip", "127.0.0.1"},
        {"source.port", "40112"},
        {"source.bytes", "3"},
        {"tls.client.hash.sha256", "AB01"},
        {"user.id", "spiffe://x/y"},
        {"user.name", "ann"},
        {"trace.id", "trace"},
        {"transaction.id", "call"},
        {"warded.method", "/a.B/C"},
        {"warded.bytes_out", "4"},
    };
    (void)state;
    json_t *document = document_of(&sample);
    for (size_t i = 0; i < COUNT(fields); i++) {
        print_message("  %s\n", fields[i][0]);
        assert_string_equal(told(document, fields[i][0]), fields[i][1]);
    }
    assert_memory_equal(told(document, "event.hash"), "ab00", 4);
    json_decref(document);
}

static void claim_07_each_event_has_its_category_of_ecs(void **state)
{
    static const struct {
        const char *event, *outcome, *category, *type, *result;
    } cases[] = {
        {"auth", "refused", "authentication", "start", "failure"},
        {"tls.reject", "refused", "network", "connection", "failure"},
        {"authz.deny", "refused", "api", "access", "failure"},
        {"token.issue", "ok", "iam", "creation", "success"},
        {"token.rotate", "ok", "iam", "change", "success"},
        {"token.revoke", "ok", "iam", "deletion", "success"},
        {"token.wrap_reuse", "refused", "intrusion_detection", "info", "failure"},
        {"call.begin", NULL, "api", "start", "unknown"},
        {"call.begin", "", "api", "start", "unknown"},
        {"call.end", "failed", "api", "end", "failure"},
        {"audit.export", "ok", "database", "access", "success"},
        {"audit.prune", "ok", "database", "change", "success"},
        {"gate.start", "ok", "process", "start", "success"},
        {"config.reload", "failed", "configuration", "change", "failure"},
        {"clock.jump", "ok", "host", "change", "success"},
        {"auth2", "ok", "api", "info", "success"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        wd_audit_row row = {
            .seq = 1, .event = cases[i].event, .outcome = cases[i].outcome};
        print_message("  %s\n", row.event);
        json_t *document = document_of(&row);
        const json_t *event = json_object_get(document, "event");
        const json_t *types = json_object_get(event, "type");
        const json_t *category = json_object_get(event, "category");
        assert_string_equal(told(event, "outcome"), cases[i].result);
        assert_string_equal(json_string_value(json_array_get(category, 0)),
                            cases[i].category);
        assert_string_equal(json_string_value(json_array_get(types, 0)), cases[i].type);
        json_decref(document);
    }
}

/* Of an empty text, or of a name in source.ip, Elasticsearch refuses the document. */
static void claim_07_what_is_not_known_is_not_in_ecs(void **state)
{
    static const char *const absent[] = {
        "source.ip",  "source.port", "source.bytes", "user",         "error",
        "tls",        "trace",       "transaction",  "event.reason", "event.duration",
        "@timestamp",
    };
    wd_audit_row row = {.seq = 1, .event = "gate.start", .wall_ms = -1};
    (void)state;
    for (int named = 0; named < 2; named++) {
        row.peer_addr = named ? "localhost:1" : NULL;
        json_t *document = document_of(&row);
        for (size_t i = 0; i < COUNT(absent); i++)
            assert_string_equal(told(document, absent[i]), "");
        assert_int_equal(json_object_get(document, "source") != NULL, named);
        assert_null(json_object_get(document, "user"));
        json_decref(document);
    }
    row.duration_us = UINT64_MAX;
    json_t *document = document_of(&row);
    assert_string_equal(told(document, "event.duration"), ""); /* beyond a long */
    json_decref(document);
}

/* --- CEF ------------------------------------------------------------------------------ */

#define HEADER "CEF:0|Warded|Warded|" WD_VERSION "|"

static void claim_07_a_line_of_cef_has_header_and_keys(void **state)
{
    WD_AUTO_BUFFER out = WD_BUFFER_INIT;
    (void)state;
    const char *line = wd_export_line(WD_EXPORT_CEF, &sample, &out);
    static const char start[] =
        HEADER "call.end|Call ended|5|rt=1800000000123 externalId=7 "
               "deviceExternalId=chain outcome=failure reason=TOKEN_REVOKED "
               "destinationServiceName=/a.B/C in=3 out=4 src=127.0.0.1 spt=40112 "
               "suid=spiffe://x/y suser=ann cs1Label=tokenId cs1=0123456789 "
               "cs2Label=peerCertificateSha256 cs2=ab01 cs4Label=callId cs4=call "
               "cs5Label=rowHash cs5=ab00";
    assert_memory_equal(line, start, strlen(start));
    assert_non_null(strstr(line, " cn1Label=code cn1=16 cn2Label=durationUs cn2=5"));
    assert_non_null(strstr(line, " WardedTrace=trace\n"));
}

static void claim_07_severity_of_cef_tells_what_to_look_at(void **state)
{
    static const struct {
        const char *event, *outcome, *middle;
    } cases[] = {
        {"call.end", "ok", "|call.end|Call ended|2|"},
        {"call.end", "refused", "|call.end|Call ended|5|"},
        {"call.end", "failed", "|call.end|Call ended|5|"},
        {"call.begin", NULL, "|call.begin|Call began|2|"},
        {"token.wrap_reuse", "refused",
         "|token.wrap_reuse|One-time wrap used again|8|"},
        {"clock.jump", "ok", "|clock.jump|Clock jumped|8|"},
        {"token.new", "ok", "|token.new|Token changed|2|"},
        {"new", "ok", "|new|Event|2|"},
        {"a|b\\c\n=d", "ok", "|a\\|b\\\\c\\\\n=d|Event|2|"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        WD_AUTO_BUFFER out = WD_BUFFER_INIT;
        wd_audit_row row = {
            .seq = 1, .event = cases[i].event, .outcome = cases[i].outcome};
        const char *line = wd_export_line(WD_EXPORT_CEF, &row, &out);
        print_message("  %s", line);
        assert_non_null(strstr(line, cases[i].middle));
    }
}

/* No text is a key, a line or a column of its own. */
static void claim_07_no_text_breaks_out_of_a_value_of_cef(void **state)
{
    static const struct {
        const char *text, *value;
    } cases[] = {
        {"plain", "plain"},
        {"x suser=root", "x suser\\=root"},
        {"=", "\\="},
        {"\\", "\\\\"},
        {"\\=", "\\\\\\="},
        {"\\n", "\\\\n"},
        {"a|b", "a|b"}, /* only the header parts there */
        {"a\nCEF:0|x", "a\\nCEF:0|x"},
        {"a\r\nb", "a\\r\\nb"},
        {"a\tb", "a\\\\tb"},
        {"a\x1b[2J", "a\\\\x1b[2J"},
        {"a\x7f", "a\\\\x7f"},
        {"a\xc2\x9b"
         "b",
         "a\\\\u009bb"},
        {"a\xe2\x80\xa8"
         "b",
         "a\\\\u2028b"},
        {"a\xe2\x80\xae"
         "b",
         "a\\\\u202eb"},
        {"a\xff\xfe", "a\\\\xff\\\\xfe"},
        {"a\xe2\x80", "a\\\\xe2\\\\x80"},
        {"caf\xc3\xa9", "caf\xc3\xa9"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        WD_AUTO_BUFFER out = WD_BUFFER_INIT;
        char want[96];
        const wd_audit_row row = {.seq = 1, .event = "auth", .tool = cases[i].text};
        const char *line = wd_export_line(WD_EXPORT_CEF, &row, &out);
        print_message("  %s", line);
        (void)snprintf(want, sizeof(want), " WardedTool=%s\n", cases[i].value);
        assert_string_equal(line + strlen(line) - strlen(want), want);
    }
}

static void claim_07_addresses_of_cef_have_keys_by_their_kind(void **state)
{
    static const struct {
        const char *address, *part;
    } cases[] = {
        {"192.0.2.7:40112", " src=192.0.2.7 spt=40112 "},
        {"[2001:db8::1]:443",
         " c6a2Label=Source IPv6 Address c6a2=2001:db8::1 spt=443 "},
        {"a=b", " shost=a\\=b "},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        WD_AUTO_BUFFER out = WD_BUFFER_INIT;
        const wd_audit_row row = {
            .seq = 1, .event = "auth", .peer_addr = cases[i].address};
        assert_non_null(
            strstr(wd_export_line(WD_EXPORT_CEF, &row, &out), cases[i].part));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_parted_or_none),
        cmocka_unit_test(a_time_is_text_between_1970_and_9999),
        cmocka_unit_test(claim_07_fields_of_ecs_are_where_elastic_has_them),
        cmocka_unit_test(claim_07_each_event_has_its_category_of_ecs),
        cmocka_unit_test(claim_07_what_is_not_known_is_not_in_ecs),
        cmocka_unit_test(claim_07_a_line_of_cef_has_header_and_keys),
        cmocka_unit_test(claim_07_severity_of_cef_tells_what_to_look_at),
        cmocka_unit_test(claim_07_no_text_breaks_out_of_a_value_of_cef),
        cmocka_unit_test(claim_07_addresses_of_cef_have_keys_by_their_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
