#include "server/config_keys.h"

#include "proto/c/limits.h"
#include "server/config.h"

#include <inttypes.h>
#include <stdio.h>

#define KIB           (UINT64_C(1) << 10)
#define MIB           (UINT64_C(1) << 20)
#define GIB           (UINT64_C(1) << 30)
#define DAY_MS        UINT64_C(86400000)
#define AT(member)    offsetof(wd_config, member)
#define IN(member)    offsetof(wd_tool_config, member)
#define ANY_TEXT      0, 1024
#define SOME_TEXT     1, 1024
#define LIMIT_HELP(w) "largest " w " that a request or a tool may ask for"

/* name, type, offset, unit, min, max, default, choices, help */
static const wd_key keys[] = {
    {"user", WD_KEY_TEXT, AT(user), "", 1, 32, "warded", NULL,
     "account that the gate runs as, not root; it owns the store"},

    {"listen.url", WD_KEY_TEXT, AT(listen.url), "", SOME_TEXT,
     "tls+tcp://127.0.0.1:7443", NULL,
     "where the gate listens; port 0: any free one, see run/address"},
    {"listen.tls12", WD_KEY_BOOL, AT(listen.tls12), "", 0, 1, "false", NULL,
     "accept TLS 1.2 besides 1.3"},

    {"identity.ca", WD_KEY_PATH, AT(identity.ca), "", ANY_TEXT, "", NULL,
     "certificates of the CA that clients must have [state/gate/ca.pem]"},
    {"identity.cert", WD_KEY_PATH, AT(identity.cert), "", ANY_TEXT, "", NULL,
     "the gate's certificate [state/gate/cert.pem]"},
    {"identity.key", WD_KEY_PATH, AT(identity.key), "", ANY_TEXT, "", NULL,
     "the gate's private key [state/gate/key.pem]"},
    {"identity.deny_list", WD_KEY_PATH, AT(identity.deny_list), "", ANY_TEXT, "", NULL,
     "serials and SPIFFE prefixes that are refused, a line each [state/gate/deny]"},

    {"store.path", WD_KEY_PATH, AT(store.path), "", ANY_TEXT, "", NULL,
     "folder of store.db; on a local file system [state/store]"},

    {"limits.in_flight", WD_KEY_UINT, AT(limits.in_flight), "calls", 1, 65536, "4096",
     NULL, "calls at once; the next gets QUEUE_FULL"},
    {"limits.frame_bytes", WD_KEY_UINT, AT(limits.frame_bytes), "bytes", 64 * KIB,
     WD_FRAME_BYTES, "16777216", NULL, "largest request"},
    {"limits.request_bytes", WD_KEY_UINT, AT(limits.request_bytes), "bytes", 16 * MIB,
     64 * GIB, "1073741824", NULL,
     "requests of all calls and what they are decoded into, four times frame_bytes or "
     "more; replies not yet read: as much again"},
    {"limits.reply_bytes", WD_KEY_UINT, AT(limits.reply_bytes), "bytes", 16 * MIB,
     64 * GIB, "268435456", NULL, "kept replies together"},
    {"limits.connections_per_principal", WD_KEY_UINT,
     AT(limits.connections_per_principal), "connections", 1, 65536, "2048", NULL,
     "connections of one certificate's URI"},
    {"limits.queue", WD_KEY_UINT, AT(limits.queue), "actions", 1, 1048576, "65536",
     NULL, "actions waiting for a slot"},

    {"audit.level", WD_KEY_ENUM, AT(audit.level), "", 0, 1, "metadata",
     "metadata|request", "request: bounded payloads are kept too"},
    {"audit.redact", WD_KEY_TEXTS, AT(audit.redact), "words", 0, 64,
     "password passwd secret token api_key apikey authorization credential private_key",
     NULL, "at level request: what is said of a name that ends so is not kept"},
    {"audit.reserve_bytes", WD_KEY_UINT, AT(audit.reserve_bytes), "bytes", 16 * MIB,
     64 * GIB, "67108864", NULL, "disk space set aside to finish what has begun"},
    {"audit.segment_bytes", WD_KEY_UINT, AT(audit.segment_bytes), "bytes", 64 * KIB,
     64 * GIB, "536870912", NULL, "rows are sealed into a file when they take so much"},
    {"audit.segment_ms", WD_KEY_UINT, AT(audit.segment_ms), "ms", 1000, 31 * DAY_MS,
     "86400000", NULL, "or when the oldest of them is so old"},
    {"audit.export_dir", WD_KEY_PATH, AT(audit.export_dir), "", ANY_TEXT, "", NULL,
     "where rows that are pruned are exported to first; better another disk "
     "[state/store/exports]"},
    {"audit.retention.age_ms", WD_KEY_UINT, AT(audit.retention.age_ms), "ms", 0,
     3650 * DAY_MS, "0", NULL,
     "sealed rows that are older are exported, then removed; 0: never"},
    {"audit.retention.bytes", WD_KEY_UINT, AT(audit.retention.bytes), "bytes", 0,
     UINT64_C(1048576) * GIB, "0", NULL,
     "so are the oldest, when the sealed ones take more than this; 0: never"},

    {"sandbox.mode", WD_KEY_ENUM, AT(sandbox.mode), "", 0, 1, "namespaces",
     "namespaces|external", "external: all of Warded runs inside an outer sandbox"},
    {"sandbox.reason", WD_KEY_TEXT, AT(sandbox.reason), "", ANY_TEXT, "", NULL,
     "for mode external: which outer sandbox; audited at every start"},
    {"sandbox.uid_base", WD_KEY_UINT, AT(sandbox.uid_base), "uid", 1,
     UINT64_C(4294900000), "1879048192", NULL, "first uid of the slots, two a slot"},
    {"sandbox.slots", WD_KEY_UINT, AT(sandbox.slots), "actions", 0, 1024, "0", NULL,
     "actions that run at once; 0: cores + 1"},
    {"sandbox.roots", WD_KEY_TEXTS, AT(sandbox.roots), "paths", 1, 64,
     "/usr /etc/alternatives /etc/ld.so.cache", NULL,
     "what code under test sees of this host, read-only"},

    {"sandbox.defaults.wall_ms", WD_KEY_UINT, AT(sandbox.defaults.wall_ms), "ms", 10,
     600000, "10000", NULL, "time of an action"},
    {"sandbox.defaults.cpu_ms", WD_KEY_UINT, AT(sandbox.defaults.cpu_ms), "ms", 10,
     3600000, "10000", NULL, "processor time of an action"},
    {"sandbox.defaults.memory_bytes", WD_KEY_UINT, AT(sandbox.defaults.memory_bytes),
     "bytes", 16 * MIB, 1024 * GIB, "536870912", NULL, "memory of an action"},
    {"sandbox.defaults.pids", WD_KEY_UINT, AT(sandbox.defaults.pids), "processes", 1,
     32768, "64", NULL, "processes and threads of an action"},
    {"sandbox.defaults.files_bytes", WD_KEY_UINT, AT(sandbox.defaults.files_bytes),
     "bytes", 64 * KIB, 1024 * GIB, "67108864", NULL, "files that an action may write"},
    {"sandbox.defaults.output_bytes", WD_KEY_UINT, AT(sandbox.defaults.output_bytes),
     "bytes", 1 * KIB, 4 * MIB, "65536", NULL, "output kept of each stream"},

    {"sandbox.maxima.wall_ms", WD_KEY_UINT, AT(sandbox.maxima.wall_ms), "ms", 10,
     600000, "600000", NULL, LIMIT_HELP("wall_ms")},
    {"sandbox.maxima.cpu_ms", WD_KEY_UINT, AT(sandbox.maxima.cpu_ms), "ms", 10, 3600000,
     "600000", NULL, LIMIT_HELP("cpu_ms")},
    {"sandbox.maxima.memory_bytes", WD_KEY_UINT, AT(sandbox.maxima.memory_bytes),
     "bytes", 16 * MIB, 1024 * GIB, "4294967296", NULL, LIMIT_HELP("memory_bytes")},
    {"sandbox.maxima.pids", WD_KEY_UINT, AT(sandbox.maxima.pids), "processes", 1, 32768,
     "1024", NULL, LIMIT_HELP("pids")},
    {"sandbox.maxima.files_bytes", WD_KEY_UINT, AT(sandbox.maxima.files_bytes), "bytes",
     64 * KIB, 1024 * GIB, "1073741824", NULL, LIMIT_HELP("files_bytes")},
    {"sandbox.maxima.output_bytes", WD_KEY_UINT, AT(sandbox.maxima.output_bytes),
     "bytes", 1 * KIB, 4 * MIB, "1048576", NULL, LIMIT_HELP("output_bytes")},

    {"tools[].name", WD_KEY_TEXT, IN(name), "", 1, 63, "", NULL,
     "what requests and scopes call it: observe:NAME"},
    {"tools[].kind", WD_KEY_ENUM, IN(kind), "", 0, 0, "python_code", "python_code",
     "what it does with an action"},
    {"tools[].interpreter", WD_KEY_PATH, IN(interpreter), "", SOME_TEXT,
     "/usr/bin/python3", NULL, "the program that runs an action"},
    {"tools[].preset", WD_KEY_TEXT, IN(preset), "", 1, 63, "default", NULL,
     "system calls that are allowed"},
    {"tools[].tags", WD_KEY_TEXTS, IN(tags), "words", 0, WD_TOOL_TAGS, "python py",
     NULL, "fences and tags by which a text is routed here"},
    {"tools[].limits.wall_ms", WD_KEY_UINT, IN(limits.wall_ms), "ms", 10, 600000, "",
     NULL, "instead of sandbox.defaults.wall_ms"},
    {"tools[].limits.cpu_ms", WD_KEY_UINT, IN(limits.cpu_ms), "ms", 10, 3600000, "",
     NULL, "instead of sandbox.defaults.cpu_ms"},
    {"tools[].limits.memory_bytes", WD_KEY_UINT, IN(limits.memory_bytes), "bytes",
     16 * MIB, 1024 * GIB, "", NULL, "instead of sandbox.defaults.memory_bytes"},
    {"tools[].limits.pids", WD_KEY_UINT, IN(limits.pids), "processes", 1, 32768, "",
     NULL, "instead of sandbox.defaults.pids"},
    {"tools[].limits.files_bytes", WD_KEY_UINT, IN(limits.files_bytes), "bytes",
     64 * KIB, 1024 * GIB, "", NULL, "instead of sandbox.defaults.files_bytes"},
    {"tools[].limits.output_bytes", WD_KEY_UINT, IN(limits.output_bytes), "bytes",
     1 * KIB, 4 * MIB, "", NULL, "instead of sandbox.defaults.output_bytes"},

    {"log.format", WD_KEY_ENUM, AT(log.format), "", 0, 2, "text", "text|json|journal",
     "form of a line on standard error"},
    {"log.level", WD_KEY_ENUM, AT(log.level), "", 0, 3, "info", "debug|info|warn|error",
     "least level that is written"},
};

const wd_key *wd_config_keys(size_t *ret_n_keys)
{
    *ret_n_keys = sizeof(keys) / sizeof(keys[0]);
    return keys;
}

void wd_key_describe(const wd_key *key, char *out, size_t size)
{
    switch (key->type) {
    case WD_KEY_UINT:
        (void)snprintf(out, size, "%" PRIu64 " to %" PRIu64 " (%s), in digits",
                       key->min, key->max, key->unit);
        return;
    case WD_KEY_BOOL:
        (void)snprintf(out, size, "true or false");
        return;
    case WD_KEY_ENUM:
        (void)snprintf(out, size, "one of %s", key->choices);
        return;
    case WD_KEY_TEXTS:
        (void)snprintf(out, size, "a list of %" PRIu64 " to %" PRIu64 " %s", key->min,
                       key->max, key->unit);
        return;
    case WD_KEY_TEXT:
    case WD_KEY_PATH:
        (void)snprintf(out, size, "text of %" PRIu64 " to %" PRIu64 " printable bytes",
                       key->min, key->max);
        return;
    }
}
