/* Settings: defaults, and every way in which a file can be refused. */
#include "server/config_keys.h"
#include "tests/unit/admin/config_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* NOLINTBEGIN(clang-analyzer-core.NullDereference): assert_non_null does not return */
static void an_empty_file_has_every_default(void **state)
{
    (void)state;
    const char *files[] = {"", "# nothing\n", "user: warded\n"};
    for (size_t i = 0; i < 3; i++) {
        WD_AUTO(wd_config) *c = NULL;
        wd_error err = {0};
        assert_int_equal(config_of(files[i], &c, &err), WD_OK);
        assert_non_null(c);
        assert_string_equal(c->user, "warded");
        assert_string_equal(c->listen.host, "127.0.0.1");
        assert_int_equal(c->listen.port, 7443);
        assert_false(c->listen.tls12);
        assert_string_equal(c->identity.ca, "/srv/warded/state/gate/ca.pem");
        assert_string_equal(c->identity.digest_key,
                            "/srv/warded/state/gate/digest.key");
        assert_false(c->identity.deny_list_set);
        assert_string_equal(c->store.path, "/srv/warded/state/store");
        assert_int_equal(c->limits.in_flight, 4096);
        assert_int_equal(c->limits.frame_bytes, 16 << 20);
        assert_int_equal(c->audit.reserve_bytes, 64 << 20);
        assert_string_equal(c->audit.export_dir, "/srv/warded/state/store/exports");
        assert_int_equal(c->audit.retention.age_ms, 0);
        assert_int_equal(c->audit.retention.bytes, 0);
        assert_int_equal(c->sandbox.mode, WD_SANDBOX_NAMESPACES);
        assert_true(c->sandbox.slots >= 2);
        assert_int_equal(c->sandbox.uid_base, 1879048192);
        assert_string_equal(c->sandbox.roots.items[0], "/usr");
        assert_int_equal(c->n_tools, 1);
        assert_string_equal(c->tools[0].name, "python_code");
        assert_string_equal(c->tools[0].interpreter, "/usr/bin/python3");
        assert_string_equal(c->tools[0].tags.items[1], "py");
        assert_int_equal(c->tools[0].limits.wall_ms, 10000);
        assert_int_equal(c->log.level, WD_LOG_INFO);
    }
}

static void what_a_file_says_holds(void **state)
{
    (void)state;
    WD_AUTO(wd_config) *c = NULL;
    wd_error err = {0};
    assert_int_equal(
        config_of("user: root\n"
                  "listen: {url: 'tls+tcp://[::1]:0', tls12: true}\n"
                  "identity:\n"
                  "  deny_list: deny.txt\n"
                  "store: {path: /data/audit}\n"
                  "limits: {in_flight: 7}\n"
                  "sandbox:\n"
                  "  slots: 3\n"
                  "  roots: [/usr, /opt/venv]\n"
                  "  defaults: {wall_ms: 2000}\n"
                  "tools:\n"
                  "  - name: python_code\n"
                  "    limits: {pids: 8}\n"
                  "  - name: old\n"
                  "    interpreter: /opt/venv/bin/python3\n"
                  "    tags: [py2, t23456789012345678901234567890123456789012"
                  "3456789012345678901234]\n"
                  "log: {format: json, level: debug}\n",
                  &c, &err),
        WD_OK);
    assert_non_null(c);
    assert_string_equal(c->listen.host, "::1");
    assert_int_equal(c->listen.port, 0);
    assert_true(c->listen.tls12);
    assert_string_equal(c->identity.deny_list, "/srv/warded/deny.txt");
    assert_true(c->identity.deny_list_set);
    assert_string_equal(c->places.store_dir, "/data/audit");
    assert_int_equal(c->limits.in_flight, 7);
    assert_int_equal(c->sandbox.slots, 3);
    assert_int_equal(c->sandbox.roots.n_items, 2);
    assert_int_equal(c->n_tools, 2);
    assert_int_equal(c->tools[0].limits.pids, 8);
    assert_int_equal(c->tools[0].limits.wall_ms, 2000);
    assert_int_equal(c->tools[0].tags.n_items, 2);
    assert_string_equal(c->tools[1].tags.items[0], "py2");
    assert_ptr_equal(wd_config_find_tool(c, "old"), &c->tools[1]);
    assert_null(wd_config_find_tool(c, "bash"));
    assert_int_equal(c->log.format, WD_LOG_JSON);
}

/* NOLINTEND(clang-analyzer-core.NullDereference) */

static const struct {
    const char *name;
    const char *text;
    const char *line; /* ":N: " */
    const char *key;
    const char *says;
} refusals[] = {
    {"unknown key", "user: a\nlisten:\n  urls: x\n", ":3: ", "listen.urls",
     "allowed: url, tls12"},
    {"unknown key at the top", "user: a\nlisting: 1\n", ":2: ", "listing",
     "allowed: user, listen, identity, store"},
    {"unknown key of a tool", "tools:\n  - name: a\n    wall: 3\n",
     ":3: ", "tools[0].wall", "allowed: name, kind, interpreter"},
    {"no mapping", "- a\n", ":1: ", "", "KEY: VALUE"},
    {"a scalar for a group", "limits: 3\n", ":1: ", "limits", "a mapping"},
    {"a list for a scalar", "user: [a]\n", ":1: ", "user", "a single value"},
    {"a mapping for a list", "tools: {}\n", ":1: ", "tools", "a list"},
    {"an empty list", "tools: []\n", ":1: ", "tools", "an empty list"},
    {"broken YAML", "user: [\n", ":2: ", "user", "no YAML"},
    {"a tab", "limits:\n\tin_flight: 3\n", ":2: ", "limits", "no YAML"},
    {"a bad indent", "user: a\n log: b\n", ":2: ", "user", "no YAML"},
    {"an open quote", "user: a\nlog: {level: 'info}\n", ":3: ", "log.level", "no YAML"},
    {"the same key twice", "user: a\nuser: b\n", ":2: ", "user", "second time"},
    {"an alias", "user: b\nstore: {path: *a}\n", ":2: ", "store.path", "aliases"},
    {"two documents", "user: a\n---\nuser: b\n", ":2: ", "file",
     "more than one document"},
    {"an empty second document", "user: a\n---\n", ":2: ", "file",
     "more than one document"},
    {"an alias as a key", "user: a\n*a : b\n", ":2: ", "user", "alias"},
    {"an anchor", "user: a\nstore: {path: &a b}\n", ":2: ", "store.path", "anchors (&"},
    {"an anchor of a mapping", "listen: &l\n  tls12: true\n", ":1: ", "listen",
     "anchors"},
    {"an anchor of a key", "user: a\n&k log: {}\n", ":2: ", "user", "anchors"},
    {"an anchor of a list", "tools: &t []\n", ":1: ", "tools", "anchors"},
    {"a merge key", "user: a\nlog:\n  <<: {level: info}\n", ":3: ", "log",
     "merge keys"},
    {"a tag", "user: !foo warded\n", ":1: ", "user", "tags (!name)"},
    {"a standard tag", "limits:\n  queue: !!int 5\n", ":2: ", "limits.queue", "tags"},
    {"a tag of a mapping", "listen: !!set {tls12: true}\n", ":1: ", "listen", "tags"},
    {"a tag of a list", "tools: !!python/tuple []\n", ":1: ", "tools", "tags"},
    {"an unknown tag's handle", "user: !e!x a\n", ":1: ", "user", "no YAML"},
    {"a list for a key", "user: a\n[a]: x\n", ":2: ", "file", "a key is a plain word"},
    {"a list for a key, spelt out", "user: a\n? [a]\n: b\n", ":2: ", "file",
     "plain word"},
    {"a mapping for a key", "{a: b}: c\n", ":1: ", "file", "plain word"},
    {"a list for a key of a group", "log:\n  level: info\n  [a]: x\n", ":3: ", "log",
     "plain word"},
    {"a list for a key of a tool", "tools:\n  - ? [a]\n    : b\n", ":2: ", "tools[0]",
     "plain word"},
    {"an empty key", "user: a\n'': x\n", ":2: ", "file", "an empty key"},
    {"no key at all", "?\n", ":1: ", "file", "an empty key"},
    {"a NUL in a value", "log: {}\nuser: \"a\\0b\"\n", ":2: ", "user", "a NUL"},
    {"a NUL in a key", "\"user\\0x\": a\n", ":1: ", "file", "a NUL"},
    {"no UTF-8", "user: a\nlog: {level: \xff}\n", ":2: ", "", "no YAML: invalid"},
    {"no UTF-8 in a comment", "user: a\n# \xc3\x28\n", ":2: ", "", "no YAML: invalid"},
    {"UTF-16", "\xff\xfeu", ":1: ", "file", "no YAML: invalid"},
    {"a bell", "user: a\nlog: \a\n", ":2: ", "", "control characters"},
    {"an escaped CSI", "user: \"a\\x9bm\"\n", ":1: ", "user", "printable"},
    {"an escaped DEL", "user: \"a\\x7f\"\n", ":1: ", "user", "printable"},
    {"a bidi control", "user: a\xe2\x80\xae\n", ":1: ", "user", "printable"},
    {"a line separator", "store: {path: \"/a\\Lb\"}\n", ":1: ", "store.path",
     "printable"},
    {"deep lists", "user: [[[[[[[[a]]]]]]]]\n", ":1: ", "user", "nested deeper"},
    {"deep mappings", "a: {a: {a: {a: {a: {a: {a: {a: {a: b}}}}}}}}\n", ":1: ", "a.a.a",
     "nested deeper"},
    {"no number", "limits:\n  in_flight: many\n", ":2: ", "limits.in_flight",
     "1 to 65536 (calls)"},
    {"zero", "user: a\nlimits:\n  in_flight: 0\n", ":3: ", "limits.in_flight",
     "1 to 65536 (calls)"},
    {"negative", "limits:\n  in_flight: -1\n", ":2: ", "limits.in_flight",
     "1 to 65536 (calls)"},
    {"a sign", "limits:\n  in_flight: +1\n", ":2: ", "limits.in_flight", "in digits"},
    {"hexadecimal", "limits:\n  in_flight: 0x10\n", ":2: ", "limits.in_flight",
     "in digits"},
    {"too many digits", "limits:\n  queue: 99999999999999999999999\n",
     ":2: ", "limits.queue", "1 to 1048576"},
    {"a unit", "audit:\n  reserve_bytes: 64 MiB\n", ":2: ", "audit.reserve_bytes",
     "(bytes)"},
    {"an empty value", "limits:\n  queue:\n", ":2: ", "limits.queue", "1 to 1048576"},
    {"above its bound", "limits: {frame_bytes: 16777217}\n",
     ":1: ", "limits.frame_bytes", "65536 to 16777216 (bytes)"},
    {"requests together below four of the largest",
     "limits:\n  frame_bytes: 4194305\n  request_bytes: 16777216\n",
     ":3: ", "limits.request_bytes", "4 times limits.frame_bytes, 16777220"},
    {"the default of one beside another's", "limits:\n  request_bytes: 67108863\n",
     ":2: ", "limits.request_bytes", "4 times limits.frame_bytes, 67108864"},
    {"no boolean", "listen:\n  tls12: maybe\n", ":2: ", "listen.tls12",
     "true or false"},
    {"yes", "listen:\n  tls12: yes\n", ":2: ", "listen.tls12", "true or false"},
    {"no such choice", "log:\n  level: loud\n", ":2: ", "log.level",
     "debug|info|warn|error"},
    {"half a choice", "log:\n  level: inf\n", ":2: ", "log.level",
     "debug|info|warn|error"},
    {"no sandbox", "sandbox:\n  mode: none\n", ":2: ", "sandbox.mode",
     "namespaces|external"},
    {"external without a reason", "sandbox:\n  mode: external\n",
     ":2: ", "sandbox.mode", "sandbox.reason"},
    {"a control character", "user: \"a\\nb\"\n", ":1: ", "user", "text of 1 to 32"},
    {"no user", "user: ''\n", ":1: ", "user", "text of 1 to 32"},
    {"a plain address", "listen:\n  url: 127.0.0.1:7443\n", ":2: ", "listen.url",
     "tls+tcp://HOST:PORT"},
    {"a URL without TLS", "listen:\n  url: tcp://127.0.0.1:7443\n",
     ":2: ", "listen.url", "tls+tcp://HOST:PORT"},
    {"no port", "listen:\n  url: tls+tcp://127.0.0.1\n", ":2: ", "listen.url",
     "tls+tcp://HOST:PORT"},
    {"a port out of range", "listen:\n  url: tls+tcp://h:65536\n", ":2: ", "listen.url",
     "tls+tcp://HOST:PORT"},
    {"a path in the URL", "listen:\n  url: tls+tcp://h:1/x\n", ":2: ", "listen.url",
     "tls+tcp://HOST:PORT"},
    {"everything as a root", "sandbox:\n  roots: [/usr, /]\n", ":2: ", "sandbox.roots",
     "absolute paths"},
    {"a relative root", "sandbox:\n  roots:\n    - /usr\n    - lib\n",
     ":4: ", "sandbox.roots", "absolute paths"},
    {"a root with ..", "sandbox: {roots: [/usr/../etc]}\n", ":1: ", "sandbox.roots",
     "absolute paths"},
    {"a root that ends with ..", "sandbox: {roots: [/usr/..]}\n",
     ":1: ", "sandbox.roots", "absolute paths"},
    {"a root of a dot", "sandbox: {roots: [/.]}\n", ":1: ", "sandbox.roots",
     "absolute paths"},
    {"a root with //", "sandbox: {roots: [//]}\n", ":1: ", "sandbox.roots",
     "absolute paths"},
    {"a root with a / at its end", "sandbox: {roots: [/usr/]}\n",
     ":1: ", "sandbox.roots", "at the end"},
    {"a root twice", "sandbox: {roots: [/usr, /usr]}\n", ":1: ", "sandbox.roots",
     "one lies in the other"},
    {"a root in another", "sandbox: {roots: [/usr, /usr/share]}\n",
     ":1: ", "sandbox.roots", "one lies in the other"},
    {"a root above the state", "sandbox:\n  roots: [/srv]\n", ":2: ", "sandbox.roots",
     "would show"},
    {"a root inside the state", "sandbox:\n  roots: [/srv/warded/state/gate]\n",
     ":2: ", "sandbox.roots", "would show"},
    {"a root above the store", "store: {path: /data/a}\nsandbox: {roots: [/data]}\n",
     ":2: ", "sandbox.roots", "would show /data/a"},
    {"uids of people", "sandbox:\n  uid_base: 1000\n", ":2: ", "sandbox.uid_base",
     "65536"},
    {"a default above its maximum",
     "sandbox:\n  defaults: {wall_ms: 5000}\n  maxima: {wall_ms: 1000}\n",
     ":2: ", "sandbox.defaults.wall_ms", "more than sandbox.maxima.wall_ms, 1000"},
    {"a tool without a name", "tools:\n  - kind: python_code\n", "", "tools[].name",
     "missing"},
    {"a tool of no kind", "tools:\n  - {name: a, kind: perl}\n", ":2: ", "tools[].kind",
     "python_code"},
    {"a tool's name", "tools:\n  - name: A b\n", ":2: ", "tools[0].name", "a-z 0-9"},
    {"two tools of a name", "tools:\n  - name: a\n  - name: b\n  - name: a\n",
     ":4: ", "tools[2].name", "earlier"},
    {"a preset", "tools:\n  - {name: a, preset: all}\n", ":2: ", "tools[0].preset",
     "allowed: default"},
    {"a tool's limit", "tools:\n  - name: a\n  - name: b\n    limits: {pids: 99999}\n",
     ":4: ", "tools[].limits.pids", "1 to 32768"},
    {"a tool's limit above the maximum",
     "tools:\n  - name: a\n  - name: b\n    limits: {pids: 2000}\n",
     ":4: ", "tools[].limits.pids", "more than sandbox.maxima.pids, 1024"},
};

static void a_refusal_tells_file_line_key_and_what_is_allowed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        WD_AUTO(wd_config) *c = NULL;
        wd_error err = {0};
        wd_status status = config_of(refusals[i].text, &c, &err);
        print_message("%s: %s\n", refusals[i].name, err.msg);
        assert_int_equal(status, WD_INVALID_ARGUMENT);
        assert_null(c);
        assert_ptr_equal(strstr(err.msg, "/srv/warded/warded.yaml"), err.msg);
        assert_non_null(strstr(err.msg, refusals[i].line));
        assert_non_null(strstr(err.msg, refusals[i].key));
        assert_non_null(strstr(err.msg, refusals[i].says));
    }
}

static void a_principals_share_holds_the_largest_request(void **state)
{
    (void)state;
    const uint64_t frame = 5 << 20;
    for (uint64_t n = 4 * frame - 1; n <= 4 * frame + 1; n++) {
        WD_AUTO(wd_config) *c = NULL;
        char text[128];
        (void)snprintf(text, sizeof(text),
                       "limits: {frame_bytes: %llu, request_bytes: %llu}\n",
                       (unsigned long long)frame, (unsigned long long)n);
        assert_int_equal(config_of(text, &c, NULL),
                         n < 4 * frame ? WD_INVALID_ARGUMENT : WD_OK);
    }
}

/* Every number: its bounds pass, one beyond is refused with the range. */
static void the_table_bounds_every_number(void **state)
{
    (void)state;
    size_t n = 0;
    const wd_key *keys = wd_config_keys(&n);
    for (size_t i = 0; i < n; i++) {
        if (keys[i].type != WD_KEY_UINT || strstr(keys[i].name, "[]") != NULL)
            continue;
        char text[256];
        const char *dot = strrchr(keys[i].name, '.');
        (void)snprintf(text, sizeof(text), "%.*s: {%s: %llu}\n",
                       (int)(dot - keys[i].name), keys[i].name, dot + 1,
                       (unsigned long long)keys[i].max + 1);
        const char *first = strchr(keys[i].name, '.');
        if (first != dot) /* two levels down */
            (void)snprintf(text, sizeof(text), "%.*s: {%.*s: {%s: %llu}}\n",
                           (int)(first - keys[i].name), keys[i].name,
                           (int)(dot - first - 1), first + 1, dot + 1,
                           (unsigned long long)keys[i].max + 1);
        WD_AUTO(wd_config) *c = NULL;
        wd_error err = {0};
        assert_int_equal(config_of(text, &c, &err), WD_INVALID_ARGUMENT);
        char range[160];
        wd_key_describe(&keys[i], range, sizeof(range));
        assert_non_null(strstr(err.msg, range));
    }
}

/* Cut anywhere, or with any byte changed: an answer, and no memory lost. */
static void a_damaged_file_is_answered(void **state)
{
    (void)state;
    static const char good[] =
        "user: a\nlimits: {queue: 9}\ntools:\n - {name: b, tags: [c]}\n";
    for (size_t i = 0; i < sizeof(good) - 1; i++) {
        char text[sizeof(good)];
        memcpy(text, good, sizeof(good));
        WD_AUTO(wd_config) *flipped = NULL;
        WD_AUTO(wd_config) *cut = NULL;
        text[i] = (char)(text[i] ^ 0x11);
        (void)!config_of(text, &flipped, NULL);
        text[i] = '\0';
        (void)!config_of(text, &cut, NULL);
    }
}

static void a_missing_file_says_how_to_make_one(void **state)
{
    (void)state;
    WD_AUTO(wd_config) *c = NULL;
    wd_error err = {0};
    assert_int_equal(wd_config_load("/nonexistent/home", &c, &err), WD_NOT_FOUND);
    assert_non_null(strstr(err.msg, "/nonexistent/home/warded.yaml"));
    assert_non_null(strstr(err.msg, "warded init"));
    assert_int_equal(wd_config_load("", &c, &err), WD_INVALID_ARGUMENT);
}

static void the_gates_account_is_not_root(void **state)
{
    (void)state;
    WD_AUTO(wd_config) *c = NULL;
    wd_error err = {0};
    unsigned uid = 9;
    unsigned gid = 9;
    assert_int_equal(config_of("user: root", &c, &err), WD_OK);
    assert_int_equal(wd_config_find_user(c, &uid, &gid, &err), WD_FAILED_PRECONDITION);
    assert_int_equal(uid + gid, 18);
    assert_non_null(strstr(err.msg, "\"root\" is root"));
    assert_non_null(strstr(err.msg, "set 'user:' in /srv/warded/warded.yaml"));
}

static void an_account_that_is_missing_is_named(void **state)
{
    (void)state;
    WD_AUTO(wd_config) *c = NULL;
    wd_error err = {0};
    unsigned uid = 9;
    unsigned gid = 9;
    assert_int_equal(config_of("user: nobody", &c, &err), WD_OK);
    assert_int_equal(wd_config_find_user(c, &uid, &gid, &err), WD_OK);
    assert_int_equal(uid, 65534);
    wd_config_free(WD_STEAL(c));
    assert_int_equal(config_of("user: nobody-here", &c, &err), WD_OK);
    assert_int_equal(wd_config_find_user(c, &uid, &gid, &err), WD_NOT_FOUND);
    assert_non_null(strstr(err.msg, "nobody-here"));
    assert_non_null(strstr(err.msg, "useradd"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_file_has_every_default),
        cmocka_unit_test(what_a_file_says_holds),
        cmocka_unit_test(a_refusal_tells_file_line_key_and_what_is_allowed),
        cmocka_unit_test(a_principals_share_holds_the_largest_request),
        cmocka_unit_test(the_table_bounds_every_number),
        cmocka_unit_test(a_damaged_file_is_answered),
        cmocka_unit_test(a_missing_file_says_how_to_make_one),
        cmocka_unit_test(the_gates_account_is_not_root),
        cmocka_unit_test(an_account_that_is_missing_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
