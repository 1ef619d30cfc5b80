/* tokens fill|check|list|secret DIR [COUNT] - the cost of tokens in the store at DIR;
 * prints one JSON object.
 *
 *   fill COUNT   issues them, each with its row, GROUP in a commit; their texts are the
 *                lines of DIR/texts
 *   check        opens the store, as a gate's start does; what a token costs in memory,
 *                and the check of one drawn at random
 *   list         how long pages of all tokens take, by filter and order
 *   secret       whether the time of a check tells how much of a secret is right */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "proto/c/siphash.h"
#include "store/audit.h"
#include "store/token_list.h"
#include "store/token_table.h"
#include "store/writer.h"
#include "tests/bench/measure.h"

#define GROUP   1000U
#define CHECKS  1000000U
#define SAMPLES 400000U /* of each class */
#define OWNERS  500U
#define PEER    "spiffe://warded.local/ns/default/owner/ann/client/trainer"
#define LINE    (WD_TOKEN_CHARS + 1)

typedef struct bench {
    char *texts; /* lines, of the tokens in the table */
    size_t n;
    wd_store *store;
    uint64_t drawn;
} bench;

/* Of this thread: what others take does not count. */
static int64_t cpu_ns(void)
{
    struct timespec at = {0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return at.tv_sec * 1000000000LL + at.tv_nsec;
}

static double since_ms(int64_t began_ns)
{
    return (double)(wd_bench_now_ns() - began_ns) / 1e6;
}

/* Any spread will do: nobody is to guess it. */
static uint64_t draw(bench *b)
{
    const uint8_t key[16] = "tokens of bench";
    b->drawn++;
    return wd_siphash(key, (wd_span){(const uint8_t *)&b->drawn, sizeof(b->drawn)});
}

static int say(const wd_error *err)
{
    (void)fprintf(stderr, "bench_tokens: %s\n", err->msg);
    return 1;
}

static wd_status open_store(bench *b, const char *dir, bool create, wd_error *err)
{
    const wd_store_options options = {
        .dir = dir, .create = create, .reserve_bytes = 1U << 20};
    return wd_store_open(&options, &b->store, err);
}

/* --- fill ---------------------------------------------------------------------------- */

typedef struct group {
    wd_store_job job; /* first */
    wd_token_issued made[GROUP];
    size_t n;
} group;

static wd_status apply(wd_store *store, wd_store_job *job, wd_error *err)
{
    const group *g = (const group *)job;
    const wd_audit_row by = {.principal = "local:0"};
    for (size_t i = 0; i < g->n; i++)
        WD_TRY(wd_tokens_add(store, g->made[i].token, &by, err));
    return WD_OK;
}

static wd_status make(bench *b, size_t number, wd_token_issued *ret, wd_error *err)
{
    static const char *const scopes[] = {"observe:python_code", "env:*"};
    char name[32], owner[32];
    (void)snprintf(name, sizeof(name), "t%07zu", number);
    (void)snprintf(owner, sizeof(owner), "owner%zu", number % OWNERS);
    const wd_token_spec spec = {.name = name,
                                .owner = owner,
                                .purpose = number % 7 == 0 ? "nightly" : "training",
                                .scopes = scopes,
                                .n_scopes = 2,
                                .bind = "uri:" PEER,
                                .ttl_ms = WD_TOKEN_TTL_MAX_MS};
    return wd_token_make(&spec, wd_store_now_ms(b->store), ret, err);
}

static wd_status fill_one(bench *b, size_t first, group *g, FILE *texts, wd_error *err)
{
    for (size_t i = 0; i < g->n; i++) {
        WD_TRY(make(b, first + i, &g->made[i], err));
        if (fprintf(texts, "%s\n", g->made[i].text.chars) != (int)LINE)
            return wd_fail(err, WD_UNAVAILABLE, "texts: can't write");
    }
    WD_TRY(wd_store_run(b->store, &g->job, err));
    for (size_t i = 0; i < g->n; i++)
        wd_token_issued_done(&g->made[i]);
    return WD_OK;
}

static wd_status fill(bench *b, FILE *texts, size_t count, wd_error *err)
{
    static group g = {.job = {.apply = apply}};
    const int64_t began_ns = wd_bench_now_ns();
    for (size_t done = 0; done < count; done += g.n) {
        g.n = count - done < GROUP ? count - done : GROUP;
        WD_TRY(fill_one(b, done, &g, texts, err));
    }
    (void)printf("{\"issued\": %zu, \"ms\": %.0f}\n", count, since_ms(began_ns));
    return WD_OK;
}

/* --- what is there ------------------------------------------------------------------- */

static double resident_bytes(void)
{
    WD_AUTO_FILE FILE *file = fopen("/proc/self/statm", "re");
    unsigned long all = 0, here = 0;
    if (file == NULL || fscanf(file, "%lu %lu", &all, &here) != 2)
        return 0;
    return (double)here * (double)sysconf(_SC_PAGESIZE);
}

static bool read_texts(bench *b, const char *path)
{
    WD_AUTO_FILE FILE *file = fopen(path, "re");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        return false;
    b->n = (size_t)ftell(file) / LINE;
    b->texts = malloc(b->n * LINE);
    if (fseek(file, 0, SEEK_SET) != 0 || b->n == 0 || b->texts == NULL ||
        fread(b->texts, LINE, b->n, file) != b->n)
        return false;
    for (size_t i = 0; i < b->n; i++)
        b->texts[i * LINE + WD_TOKEN_CHARS] = '\0';
    return true;
}

static wd_status check_text(bench *b, const char *text, int64_t now_ms)
{
    WD_AUTO(wd_token) *token = NULL;
    wd_error err;
    const wd_token_proof proof = {.token = text, .peer_uri = PEER, .now_ms = now_ms};
    return wd_token_check(wd_store_tokens(b->store), &proof, &token, &err);
}

/* --- check --------------------------------------------------------------------------- */

static double digest_us(bench *b)
{
    uint8_t digest[WD_TOKEN_DIGEST_BYTES];
    const int64_t began_ns = cpu_ns();
    for (size_t i = 0; i < CHECKS; i++)
        wd_token_digest(b->texts + draw(b) % b->n * LINE, digest);
    return (double)(cpu_ns() - began_ns) / 1e3 / CHECKS;
}

static int check(bench *b, double opened_ms, double bytes)
{
    const int64_t now_ms = wd_store_now_ms(b->store);
    size_t held = 0;
    const int64_t began_ns = cpu_ns();
    for (size_t i = 0; i < CHECKS; i++)
        held += check_text(b, b->texts + draw(b) % b->n * LINE, now_ms) == WD_OK;
    const double us = (double)(cpu_ns() - began_ns) / 1e3 / CHECKS;
    (void)printf("{\"tokens\": %zu, \"open_ms\": %.1f, \"bytes_per_token\": %.0f, "
                 "\"check_us\": %.3f, \"digest_us\": %.3f}\n",
                 b->n, opened_ms, bytes / (double)b->n, us, digest_us(b));
    return held == CHECKS ? 0 : 1;
}

/* --- list ---------------------------------------------------------------------------- */

typedef struct listing {
    const char *filter, *sort;
    double ms;
    uint64_t total;
} listing;

static wd_status page(bench *b, listing *l, wd_error *err)
{
    WD_AUTO(wd_token_filter) *filter = NULL;
    const int64_t began_ns = wd_bench_now_ns();
    WD_TRY(wd_token_filter_parse(l->filter, wd_store_now_ms(b->store), &filter, err));
    const wd_token_query query = {.filter = filter, .sort = l->sort, .cursor = ""};
    WD_AUTO_PAGE found = {0};
    WD_TRY(wd_token_page_read(wd_store_tokens(b->store), &query, &found, err));
    l->ms = since_ms(began_ns);
    l->total = found.total;
    return WD_OK;
}

static wd_status list(bench *b, wd_error *err)
{
    listing asked[] = {
        {.filter = "", .sort = "created"},
        {.filter = "", .sort = "-expires"},
        {.filter = "", .sort = "name"},
        {.filter = "owner=owner7", .sort = "created"},
        {.filter = "owner=owner7* state=active purpose=nightly", .sort = "name"},
        {.filter = "scope=observe:python_code used<-30d", .sort = "owner"},
    };
    (void)printf("{\"pages\": [");
    for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
        listing *l = &asked[i];
        WD_TRY(page(b, l, err));
        (void)printf("%s[\"%s\", \"%s\", %" PRIu64 ", %.1f]", i > 0 ? ", " : "",
                     l->filter, l->sort, l->total, l->ms);
    }
    (void)printf("]}\n");
    return WD_OK;
}

/* --- secret -------------------------------------------------------------------------- */

#define SECRET_AT (5U + WD_TOKEN_ID_CHARS) /* after "wdt1_" and the id */
#define SECRET    43U
#define DRAWN     (WD_TOKEN_ID_CHARS + SECRET)
#define RIGHT     3U /* classes: how many characters are right */
static const unsigned right[RIGHT] = {0, 21, 42};

/* Id and secret of a token as the bytes that they are drawn from: wd_token_mint takes
 * more than it needs, and uses them from the end. */
static void take_bytes(void *arg, void *bytes, size_t size)
{
    const uint8_t *chosen = arg;
    memset(bytes, 0, size);
    for (size_t i = 0; i < DRAWN && i < size; i++)
        ((uint8_t *)bytes)[size - 1 - i] = chosen[i];
}

static uint8_t byte_of(char c)
{
    static const char letters[] =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    return (uint8_t)(strchr(letters, c) - letters);
}

/* `text` with only so many characters of its secret right, its check digits good. */
static bool spoil(const char *text, unsigned good, wd_token_text *ret)
{
    uint8_t bytes[DRAWN];
    wd_token_name name;
    for (size_t i = 0; i < DRAWN; i++)
        bytes[i] = byte_of(text[i + 5]);
    for (size_t i = WD_TOKEN_ID_CHARS + good; i < DRAWN; i++)
        bytes[i] = (uint8_t)((bytes[i] + 1) % 62);
    wd_token_mint(WD_TOKEN_DATA, take_bytes, bytes, ret);
    return wd_token_parse(ret->chars, &name) &&
           memcmp(ret->chars, text, SECRET_AT + good) == 0 &&
           memcmp(ret->chars, text, SECRET_AT + good + 1) != 0;
}

typedef struct sums {
    double n, sum, squares;
} sums;

/* Welch's t of two classes. */
static double welch(const sums *a, const sums *b)
{
    const double mean_a = a->sum / a->n, mean_b = b->sum / b->n;
    const double var_a = a->squares / a->n - mean_a * mean_a;
    const double var_b = b->squares / b->n - mean_b * mean_b;
    return (mean_a - mean_b) / sqrt(var_a / a->n + var_b / b->n);
}

static int ascending(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* What an interrupt made long says nothing: the slowest tenth of all are left out. */
static float crop_at(const float *times, size_t n)
{
    float *sorted = malloc(n * sizeof(*sorted));
    if (sorted == NULL)
        return INFINITY;
    memcpy(sorted, times, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), ascending);
    const float found = sorted[n * 9 / 10];
    free(sorted);
    return found;
}

static int tell_secret(const float *times, const uint8_t *classes, size_t n)
{
    sums all[RIGHT] = {0};
    const float most = crop_at(times, n);
    for (size_t i = 0; i < n; i++) {
        if (times[i] > most)
            continue;
        all[classes[i]].n++;
        all[classes[i]].sum += times[i];
        all[classes[i]].squares += (double)times[i] * times[i];
    }
    (void)printf("{\"samples\": %zu, \"ns\": %.1f, \"t\": [", n, all[0].sum / all[0].n);
    for (unsigned k = 1; k < RIGHT; k++)
        (void)printf("%s[%u, %.2f, %.3f]", k > 1 ? ", " : "", right[k],
                     welch(&all[k], &all[0]),
                     all[k].sum / all[k].n - all[0].sum / all[0].n);
    (void)printf("]}\n");
    return 0;
}

/* Which class is next is drawn: what drifts meets all of them. */
static int secret(bench *b)
{
    static wd_token_text wrong[RIGHT];
    const size_t n = (size_t)SAMPLES * RIGHT;
    float *times = calloc(n, sizeof(*times));
    uint8_t *classes = calloc(n, 1);
    bool ok = times != NULL && classes != NULL;
    for (unsigned k = 0; k < RIGHT && ok; k++)
        ok = spoil(b->texts, right[k], &wrong[k]);
    const int64_t now_ms = wd_store_now_ms(b->store);
    for (size_t i = 0; i < n && ok; i++) {
        char text[LINE]; /* the same memory for all */
        classes[i] = (uint8_t)(draw(b) % RIGHT);
        memcpy(text, wrong[classes[i]].chars, LINE);
        const int64_t began_ns = wd_bench_now_ns();
        ok = check_text(b, text, now_ms) != WD_OK;
        times[i] = (float)(wd_bench_now_ns() - began_ns);
    }
    int status = ok ? tell_secret(times, classes, n) : 1;
    free(times);
    free(classes);
    return status;
}

/* --- all of them --------------------------------------------------------------------- */

static int look(bench *b, const char *verb, const char *dir, wd_error *err)
{
    const double before = resident_bytes();
    const int64_t began_ns = wd_bench_now_ns();
    if (open_store(b, dir, false, err) != WD_OK)
        return say(err);
    const double opened_ms = since_ms(began_ns);
    const double bytes = resident_bytes() - before;
    if (strcmp(verb, "check") == 0)
        return check(b, opened_ms, bytes);
    if (strcmp(verb, "secret") == 0)
        return secret(b);
    return list(b, err) == WD_OK ? 0 : say(err);
}

static int run(bench *b, int argc, char **argv)
{
    wd_error err = {0};
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/texts", argv[2]);
    if (argc == 4 && strcmp(argv[1], "fill") == 0) {
        if (open_store(b, argv[2], true, &err) != WD_OK)
            return say(&err);
        WD_AUTO_FILE FILE *texts = fopen(path, "wxe");
        if (texts == NULL || fill(b, texts, strtoul(argv[3], NULL, 10), &err) != WD_OK)
            return say(&err);
        return 0;
    }
    if (argc != 3 || !read_texts(b, path)) {
        (void)fputs("bench_tokens fill DIR COUNT | check|list|secret DIR\n", stderr);
        return 2;
    }
    return look(b, argv[1], argv[2], &err);
}

int main(int argc, char **argv)
{
    bench b = {0};
    int status = argc >= 3 ? run(&b, argc, argv) : 2;
    wd_store_close(b.store);
    free(b.texts);
    return status;
}
