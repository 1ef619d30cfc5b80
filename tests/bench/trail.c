/* bench_trail - a trail as calls leave it, and how fast it verifies.
 *
 *     bench_trail DIR fill N           make a store of N rows, half of them sealed
 *     bench_trail DIR sha S T          S seconds: mbedtls_sha256 over each row's bytes, by
 *                                      T threads at once, and nothing else
 *     bench_trail DIR rows S T         S seconds: the rows verified, by T threads
 *     bench_trail DIR whole S T        with tokens, pages and indexes besides
 * T 0: as many as there are cores; 1: one, by the time of its processor; -1: one, by the
 * clock. Prints one JSON object of its passes. What sha hashes is what verifying hashes:
 * each row's digest is compared with its hash beforehand. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mbedtls/sha256.h>

#include "proto/c/buffer.h"
#include "store/archive.h"
#include "store/audit_cells.h"
#include "store/audit_verify.h"
#include "store/writer.h"
#include "tests/bench/rows.h"

#define ROWS_A_COMMIT 1000U
#define MOST_PASSES   4096U
#define MOST_THREADS  64U
#define US_A_S        1000000.0

static void need(bool good, const char *what)
{
    if (good)
        return;
    (void)fprintf(stderr, "bench_trail: %s\n", what);
    exit(1); /* NOLINT(concurrency-mt-unsafe): a program of its own */
}

/* --- fill ------------------------------------------------------------------------------------ */

typedef struct filling {
    wd_store_job job; /* first */
    uint64_t next, n;
} filling;

static wd_status apply(wd_store *store, wd_store_job *job, wd_error *err)
{
    filling *f = (filling *)job;
    for (size_t i = 0; i < ROWS_A_COMMIT && f->next < f->n; i++) {
        wd_bench_texts texts;
        const wd_audit_row row = wd_bench_row(f->next++, &texts);
        WD_TRY(wd_audit_append(store, &row, err));
    }
    return WD_OK;
}

static wd_status fill_to(wd_store *store, filling *f, uint64_t n, wd_error *err)
{
    f->n = n;
    while (f->next < f->n)
        WD_TRY(wd_store_run(store, &f->job, err));
    return WD_OK;
}

static wd_status fill(const char *dir, uint64_t n, wd_error *err)
{
    WD_AUTO(wd_store) *store = NULL;
    WD_AUTO(wd_archivist) *archivist = NULL;
    filling f = {.job.apply = apply};
    const wd_store_options options = {
        .dir = dir, .create = true, .reserve_bytes = 1 << 20};
    WD_TRY(wd_store_open(&options, &store, err));
    const wd_archive_options sealing = {.store = store};
    WD_TRY(wd_archivist_open(&sealing, &archivist, err));
    WD_TRY(fill_to(store, &f, n / 2, err));
    WD_TRY(wd_archivist_seal(archivist, err));
    return fill_to(store, &f, n, err);
}

/* --- the bytes ------------------------------------------------------------------------------- */

/* What each row's hash is of, one after the other. */
typedef struct bytes {
    wd_buffer all;
    wd_buffer ends; /* of each row: size_t */
    uint64_t rows;
} bytes;

static void put(bytes *b, const void *data, size_t size)
{
    need(wd_buffer_append(&b->all, data, size), "no memory");
}

static void put_number(bytes *b, uint8_t tag, uint64_t number, size_t size)
{
    uint8_t text[9] = {tag};
    for (size_t i = size; i > 0; i--, number >>= 8)
        text[i] = (uint8_t)(number & 0xFF);
    put(b, text, size + 1);
}

static void put_cell(bytes *b, const wd_cell *cell)
{
    if (cell->tag == WD_CELL_INTEGER) {
        put_number(b, WD_CELL_INTEGER, (uint64_t)cell->number, 8);
    } else if (cell->tag == WD_CELL_BYTES) {
        put_number(b, WD_CELL_BYTES, cell->bytes.size, 4);
        put(b, cell->bytes.data, cell->bytes.size);
    } else {
        put(b, "", 1);
    }
}

/* By the rule of docs/protocol.md, section 5, written a second time. */
static bool add_row(void *arg, const wd_audit_row *row)
{
    bytes *b = arg;
    wd_cell cells[WD_AUDIT_CELLS];
    uint8_t digest[WD_AUDIT_HASH_BYTES];
    size_t start = b->all.size;
    size_t n = WD_AUDIT_CELLS;
    wd_cells_of_row(row, cells);
    while (n > WD_AUDIT_FIRST_CELLS && cells[n - 1].tag == WD_CELL_NULL)
        n--;
    put(b, "warded-audit-v1", 15);
    put(b, row->prev_hash, sizeof(row->prev_hash));
    for (size_t i = 0; i < n; i++)
        put_cell(b, &cells[i]);
    need(mbedtls_sha256(b->all.data + start, b->all.size - start, digest, 0) == 0 &&
             memcmp(digest, row->hash, sizeof(digest)) == 0,
         "these are not the bytes that a row's hash is of");
    need(wd_buffer_append(&b->ends, &b->all.size, sizeof(b->all.size)), "no memory");
    b->rows++;
    return true;
}

static wd_status read_bytes(const char *dir, bytes *b, wd_error *err)
{
    WD_AUTO(wd_reader) *reader = NULL;
    const wd_audit_sink sink = {add_row, b};
    wd_audit_filter filter = {.from_seq = 1, .limit = WD_AUDIT_QUERY_ROWS};
    WD_TRY(wd_reader_open(dir, NULL, &reader, err));
    while (filter.from_seq != 0)
        WD_TRY(wd_audit_query(reader, &filter, &sink, &filter.from_seq, err));
    return WD_OK;
}

/* --- a pass ---------------------------------------------------------------------------------- */

typedef struct bench {
    const char *dir, *kind;
    unsigned threads;
    clockid_t clock;
    bytes bytes; /* of sha alone */
    uint64_t rows;
} bench;

typedef struct share {
    const bytes *bytes;
    uint64_t from, to;
    pthread_t thread;
} share;

static void *hash_share(void *arg)
{
    const share *s = arg;
    const size_t *ends = (const size_t *)(const void *)s->bytes->ends.data;
    uint8_t digest[WD_AUDIT_HASH_BYTES];
    size_t start = s->from > 0 ? ends[s->from - 1] : 0;
    for (uint64_t i = s->from; i < s->to; start = ends[i++])
        (void)mbedtls_sha256(s->bytes->all.data + start, ends[i] - start, digest, 0);
    return NULL;
}

static void hash_all(const bench *b)
{
    share shares[MOST_THREADS];
    for (unsigned i = 0; i < b->threads; i++) {
        shares[i] = (share){.bytes = &b->bytes,
                            .from = b->rows * i / b->threads,
                            .to = b->rows * (i + 1) / b->threads};
        if (i > 0)
            need(pthread_create(&shares[i].thread, NULL, hash_share, &shares[i]) == 0,
                 "no thread");
    }
    (void)hash_share(&shares[0]);
    for (unsigned i = 1; i < b->threads; i++)
        (void)pthread_join(shares[i].thread, NULL);
}

static wd_status verify(bench *b, wd_error *err)
{
    WD_AUTO(wd_reader) *reader = NULL;
    wd_audit_report report;
    wd_audit_range range = {.threads = b->threads};
    WD_TRY(wd_reader_open(b->dir, NULL, &reader, err));
    if (strcmp(b->kind, "rows") == 0) {
        wd_head head;
        WD_TRY(wd_audit_read_head(reader, &head, err));
        range.last = head.seq; /* not the whole: its rows */
    }
    WD_TRY(wd_audit_verify(reader, &range, &report, err));
    b->rows = report.rows;
    return WD_OK;
}

static wd_status pass(bench *b, wd_error *err)
{
    if (strcmp(b->kind, "sha") != 0)
        return verify(b, err);
    hash_all(b);
    return WD_OK;
}

/* --- passes ---------------------------------------------------------------------------------- */

static double now_s(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

/* The rate is that of the median pass: what else the machine does is no pass's fault. */
static void tell(const bench *b, double *passes, size_t n, double used_s)
{
    const double rows = (double)b->rows;
    const double all = rows * (double)n;
    qsort(passes, n, sizeof(*passes), by_size);
    (void)printf("{\"rate\": %.1f, \"p50_us\": %.1f, \"p99_us\": %.1f, "
                 "\"client_us\": %.4f, \"calls\": %.0f}\n",
                 rows / passes[n / 2], passes[n / 2] * US_A_S, passes[n - 1] * US_A_S,
                 used_s * US_A_S / all, all);
}

static wd_status measure(bench *b, double seconds, wd_error *err)
{
    double passes[MOST_PASSES];
    size_t n = 0;
    WD_TRY(pass(b, err)); /* warms up */
    double used = now_s(CLOCK_PROCESS_CPUTIME_ID);
    double end = now_s(CLOCK_MONOTONIC) + seconds;
    for (; n < MOST_PASSES && (n < 3 || now_s(CLOCK_MONOTONIC) < end); n++) {
        double start = now_s(b->clock);
        WD_TRY(pass(b, err));
        passes[n] = now_s(b->clock) - start;
    }
    tell(b, passes, n, now_s(CLOCK_PROCESS_CPUTIME_ID) - used);
    return WD_OK;
}

static void take_threads(bench *b, long asked)
{
    long n = asked == 0 ? sysconf(_SC_NPROCESSORS_ONLN) : labs(asked);
    need(n >= 1 && n <= (long)MOST_THREADS, "too many threads");
    b->threads = (unsigned)n;
    b->clock = asked == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
}

static wd_status run(bench *b, double seconds, wd_error *err)
{
    if (strcmp(b->kind, "sha") == 0) {
        WD_TRY(read_bytes(b->dir, &b->bytes, err));
        b->rows = b->bytes.rows;
    }
    return measure(b, seconds, err);
}

int main(int argc, char **argv)
{
    wd_error err = {0};
    wd_status status = WD_INVALID_ARGUMENT;
    bench b = {.bytes = {WD_BUFFER_INIT, WD_BUFFER_INIT, 0}};
    if (argc == 4 && strcmp(argv[2], "fill") == 0) {
        status = fill(argv[1], strtoull(argv[3], NULL, 10), &err);
    } else if (argc == 5) {
        b.dir = argv[1];
        b.kind = argv[2];
        take_threads(&b, strtol(argv[4], NULL, 10));
        status = run(&b, strtod(argv[3], NULL), &err);
    } else {
        (void)snprintf(err.msg, sizeof(err.msg), "usage: DIR fill N|KIND S T");
    }
    wd_buffer_done(&b.bytes.all);
    wd_buffer_done(&b.bytes.ends);
    need(status == WD_OK, err.msg);
    return 0;
}
