/* slot_spec.h - what warded-execd hands to warded-slot, and what comes back.
 *
 * warded-slot is exec'd with an empty environment and these descriptors only. It is
 * another program, so that nothing of the executor's memory is in it, and is built
 * without sanitizers. Both come from one build: plain structs, checked by size.
 *
 * Threads: any.  Owns: nothing.  Used by warded-slot too: no dependency but libc. */
#ifndef WD_EXECUTOR_SLOT_SPEC_H
#define WD_EXECUTOR_SLOT_SPEC_H

#include "server/executor/layer.h"

#include <stdint.h>

/* Descriptors of warded-slot. The action's own are 0, 1, 2 and its code on 3, which the
 * runner closes before the action's first line. */
#define WD_SLOT_STDIN_FD   0 /* sealed memfd */
#define WD_SLOT_STDOUT_FD  1
#define WD_SLOT_STDERR_FD  2
#define WD_SLOT_SPEC_FD    3 /* sealed memfd: one wd_slot_spec */
#define WD_SLOT_CODE_FD    4 /* sealed memfd */
#define WD_SLOT_FILTER_FD  5 /* sealed memfd: struct sock_filter[] */
#define WD_SLOT_REPORT_FD  6 /* pipe, write end: one wd_slot_report */
#define WD_SLOT_CONTROL_FD 7 /* pipe, read end: a byte or its end: kill everything */
#define WD_SLOT_LAST_FD    7

#define WD_SLOT_ROOTS        64
#define WD_SLOT_ROOTS_BYTES  4096
#define WD_SLOT_RUNNER_BYTES 4096
#define WD_SLOT_PATH_BYTES   256

/* ids of the worker and of init inside. */
#define WD_SLOT_WORKER_ID 1000

typedef struct wd_slot_spec {
    uint32_t size;       /* sizeof(wd_slot_spec) */
    uint32_t init_uid;   /* outside; 0 inside; gids are the same numbers */
    uint32_t worker_uid; /* outside; 1000 inside */
    uint32_t n_roots;
    uint64_t files_bytes;
    uint64_t address_bytes; /* RLIMIT_AS */
    uint64_t cpu_s;         /* RLIMIT_CPU */
    uint64_t pids;
    char interpreter[WD_SLOT_PATH_BYTES];
    char roots[WD_SLOT_ROOTS_BYTES];   /* n_roots texts, each with its NUL */
    char runner[WD_SLOT_RUNNER_BYTES]; /* Python: reads fd 3, closes it, runs it */
} wd_slot_spec;

typedef enum wd_slot_report_kind {
    WD_SLOT_ENDED = 1, /* wait_status, leftovers, files_full, cpu_us */
    WD_SLOT_FAULT = 2, /* layer, error, what: the action's code did not run */
} wd_slot_report_kind;

/* One write; smaller than PIPE_BUF, so never torn. */
typedef struct wd_slot_report {
    int32_t kind;
    int32_t wait_status;
    uint32_t leftovers;
    int32_t layer;
    int32_t error;
    uint32_t files_full; /* 1: no block or no inode was left in the action's tmpfs */
    uint64_t cpu_us;     /* of the action's process and of what it waited for */
    char what[108];
} wd_slot_report;

#endif
