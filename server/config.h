/* config.h - Warded's settings: one YAML file, read once, checked in full.
 *
 * Every key stands in one table (config_keys.c): name, type, unit, bounds, default and
 * help; the YAML schema, the checks, the comments of `warded init` and the man page are
 * made from it. An unknown key, a wrong type or a value out of its bounds is refused
 * with file, line, key and what is allowed. What is absent has its default.
 *
 * Threads: a wd_config is immutable after wd_config_load; share it freely.
 * Owns:    its strings and lists.
 * Source:  docs/operations.md, "Configuration". */
#ifndef WD_SERVER_CONFIG_H
#define WD_SERVER_CONFIG_H

#include "server/log.h"
#include "server/places.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct wd_text_list {
    char **items;
    size_t n_items;
} wd_text_list;

/* What one action may use. Bytes are bytes, times milliseconds. */
typedef struct wd_action_limits {
    uint64_t wall_ms;
    uint64_t cpu_ms;
    uint64_t memory_bytes;
    uint64_t pids; /* processes and threads at once */
    uint64_t files_bytes;
    uint64_t output_bytes; /* kept of each stream, head and tail together */
} wd_action_limits;

typedef enum wd_sandbox_mode {
    WD_SANDBOX_NAMESPACES, /* every layer by ourselves */
    WD_SANDBOX_EXTERNAL,   /* the operator asserts an outer sandbox; see reason */
} wd_sandbox_mode;

typedef enum wd_audit_level {
    WD_AUDIT_METADATA,
    WD_AUDIT_REQUEST, /* bounded payloads are kept too */
} wd_audit_level;

#define WD_RETENTION_LEAST_MS 3600000U /* the least audit.retention.age_ms */
#define WD_TOOL_TAGS          32U      /* most tags of one tool */
#define WD_TOOL_TAG_BYTES     64U      /* longest of them */

typedef enum wd_tool_kind {
    WD_TOOL_PYTHON_CODE,
} wd_tool_kind;

typedef struct wd_tool_config {
    char *name; /* unique; [a-z0-9][a-z0-9_-]*, at most 63 */
    wd_tool_kind kind;
    char *interpreter; /* absolute path */
    char *preset;      /* seccomp preset; "default" */
    wd_text_list tags;
    wd_action_limits limits; /* the tool's own, else sandbox.defaults; <= maxima */
} wd_tool_config;

typedef struct wd_config {
    wd_places places; /* store_dir as store.path says */
    char *user;       /* account of the gate */
    struct {
        char *url;     /* tls+tcp://HOST:PORT as written */
        char *host;    /* of the url; IPv6 without brackets; "*" any */
        uint16_t port; /* 0: the kernel chooses; see run/address */
        bool tls12;
    } listen;
    struct { /* absolute paths */
        char *ca;
        char *cert;
        char *key;
        char *deny_list; /* need not exist unless the setting names it */
        bool deny_list_set;
        char *digest_key; /* no setting: state/gate/digest.key, 32 bytes */
    } identity;
    struct {
        char *path; /* the folder: store.db, lock, reserve */
    } store;
    struct {
        uint64_t in_flight;   /* calls */
        uint64_t frame_bytes; /* one envelope */
        uint64_t
            request_bytes;    /* of all calls, decoded; unread replies as much again */
        uint64_t reply_bytes; /* kept replies together */
        uint64_t connections_per_principal;
        uint64_t queue; /* actions waiting for a slot */
    } limits;
    struct {
        wd_audit_level level;
        wd_text_list redact; /* names of what level request does not keep */
        uint64_t reserve_bytes;
        uint64_t segment_bytes; /* the open segment is sealed when it has so much */
        uint64_t segment_ms;    /* or when its oldest row is so old */
        char *export_dir;       /* absolute: where pruned segments go */
        struct {
            uint64_t age_ms; /* segments that are older are pruned; 0: none are */
            uint64_t bytes;  /* sealed segments take no more; 0: no limit */
        } retention;
    } audit;
    struct {
        wd_sandbox_mode mode;
        char *reason; /* non-empty in mode external */
        uint64_t uid_base;
        uint64_t slots;     /* never 0 after load: cores + 1 is the default */
        wd_text_list roots; /* absolute paths, read-only inside; may be missing */
        wd_action_limits defaults;
        wd_action_limits maxima;
    } sandbox;
    wd_tool_config *tools; /* in the order of the file: it decides between tags */
    size_t n_tools;
    struct {
        wd_log_format format;
        wd_log_level level;
    } log;
} wd_config;

/* Read and check the configuration of `home` (NULL: the system's; see places.h).
 * *ret_config is the caller's. Opens no other file and needs no privilege.
 * Errors: NOT_FOUND        there is no file; says how to make one
 *         INVALID_ARGUMENT the file is refused: "FILE:LINE: KEY: why; what is allowed"
 *         PERMISSION_DENIED, INTERNAL the file can't be read */
WD_MUST_USE wd_status wd_config_load(const char *home, wd_config **ret_config,
                                     wd_error *err);

/* The same from memory: `text` of `size` bytes, called `file` in errors; relative paths
 * are those of places->config_file's folder. */
WD_MUST_USE wd_status wd_config_parse(const wd_places *places, const char *text,
                                      size_t size, wd_config **ret_config,
                                      wd_error *err);

void wd_config_free(wd_config *config);
WD_DEFINE_AUTO(wd_config, wd_config_free)

/* The tool called `name`; NULL when none is. */
const wd_tool_config *wd_config_find_tool(const wd_config *config, const char *name);

/* uid and gid of the setting `user`.
 * Errors: NOT_FOUND           no such account: names the setting and how to add it
 *         FAILED_PRECONDITION it is root, under whatever name */
WD_MUST_USE wd_status wd_config_find_user(const wd_config *config, unsigned *ret_uid,
                                          unsigned *ret_gid, wd_error *err);

#endif
