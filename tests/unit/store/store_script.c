#include "tests/unit/store/store_script.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/archive.h"
#include "store/token_table.h"
#include "store/tokens.h"

#define DEPTH 8

void wd_script_init(wd_script *s)
{
    *s = (wd_script){.n_heads = 0};
    wd_fixture_init(&s->base);
    assert_int_equal(rmdir(s->base.top), 0);
    (void)snprintf(s->base.top, sizeof(s->base.top), "/dev/shm/wd-script-XXXXXX");
    assert_non_null(mkdtemp(s->base.top));
    (void)snprintf(s->base.dir, sizeof(s->base.dir), "%s/store", s->base.top);
}

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    return remove(path);
}

/* In this process: it is done a thousand times. */
void wd_script_done(wd_script *s)
{
    wd_fixture_close(&s->base);
    assert_int_equal(nftw(s->base.top, remove_one, DEPTH, FTW_DEPTH | FTW_PHYS), 0);
}

/* --- steps ------------------------------------------------------------------------ */

static double now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* false: refused, and in the way that is promised. */
static bool is_done(wd_script *s, wd_status status, const wd_error *err, double began)
{
    if (status == WD_OK) {
        s->heads[s->n_heads++] = wd_audit_head(s->base.store);
        return true;
    }
    double took = now_ms() - began;
    if (took > s->worst_ms)
        s->worst_ms = took;
    s->n_refused++;
    if (status != err->status || status != wd_reason_status(err->reason))
        fail_msg("code %d, reason %s: %s", (int)err->status,
                 wd_reason_name(err->reason), err->msg);
    bool lacks_room = s->may_lack_room && err->status == WD_RESOURCE_EXHAUSTED;
    if (err->reason != WD_REASON_AUDIT_UNWRITABLE && !lacks_room)
        fail_msg("refused otherwise: %s", err->msg);
    return false;
}

static wd_status apply_row(wd_store *store, wd_store_job *job, wd_error *err)
{
    const wd_audit_row row = {.event = "call.begin", .call_id = "c"};
    (void)job;
    return wd_audit_append(store, &row, err);
}

static bool add_row(wd_script *s)
{
    wd_store_job job = {.apply = apply_row};
    wd_error err = {0};
    double began = now_ms();
    wd_status status = wd_store_run(s->base.store, &job, &err);
    return is_done(s, status, &err, began);
}

static void issue(wd_script *s)
{
    static const char *const scopes[] = {"observe:python_code"};
    static const wd_token_spec spec = {.name = "trainer",
                                       .scopes = scopes,
                                       .n_scopes = 1,
                                       .bind = "uri:spiffe://warded.local/ns/default/"
                                               "owner/ann/client/trainer"};
    WD_AUTO_ISSUED issued = {0};
    wd_error err = {0};
    double began = now_ms();
    wd_status status =
        wd_tokens_issue_now(s->base.store, &spec, "local:0", &issued, &err);
    if (is_done(s, status, &err, began))
        (void)snprintf(s->token, sizeof(s->token), "%s", issued.token->id);
}

static void take_back(wd_script *s)
{
    const wd_token_revocation revocation = {s->token, "leaked", "local:0"};
    wd_error err = {0};
    bool was_live = false;
    double began = now_ms();
    if (s->token[0] == '\0')
        return;
    wd_status status =
        wd_tokens_revoke_now(s->base.store, &revocation, &was_live, &err);
    s->revoked = is_done(s, status, &err, began);
}

/* What fails is left as it was. */
static void seal(wd_script *s)
{
    WD_AUTO(wd_archivist) *archivist = NULL;
    const wd_archive_options options = {.store = s->base.store};
    wd_error err = {0};
    if (wd_archivist_open(&options, &archivist, &err) == WD_OK)
        s->sealed = wd_archivist_seal(archivist, &err) == WD_OK;
}

static bool see(void *arg, const wd_audit_row *row)
{
    (*(uint64_t *)arg)++;
    return row->seq != 0;
}

/* A reader may fail; it may not be wrong. */
static void read_all(wd_script *s)
{
    WD_AUTO(wd_reader) *reader = NULL;
    const wd_audit_range all = {0};
    const wd_audit_filter every = {.limit = WD_AUDIT_QUERY_ROWS};
    wd_audit_report report;
    wd_error err = {0};
    uint64_t seen = 0;
    uint64_t next = 0;
    uint64_t newest = wd_audit_head(s->base.store).seq;
    const wd_audit_sink sink = {see, &seen};
    if (wd_reader_open(s->base.dir, s->base.options.vfs, &reader, &err) != WD_OK)
        return;
    if (wd_audit_query(reader, &every, &sink, &next, &err) == WD_OK)
        assert_int_equal(seen, newest);
    wd_status status = wd_audit_verify(reader, &all, &report, &err);
    if (status == WD_OK)
        assert_int_equal(report.rows, newest);
    else if (report.fault != WD_AUDIT_SOUND)
        fail_msg("a sound trail was called bad: %s", err.msg);
}

static void run(wd_script *s)
{
    wd_error err = {0};
    if (wd_store_open(&s->base.options, &s->base.store, &err) != WD_OK) {
        assert_null(s->base.store);
        return;
    }
    issue(s);
    for (int i = 0; i < WD_SCRIPT_ROWS; i++)
        (void)add_row(s);
    seal(s);
    for (int i = 0; i < WD_SCRIPT_ROWS; i++)
        (void)add_row(s);
    take_back(s);
    read_all(s);
}

void wd_script_run(wd_script *s)
{
    if (s->begins != NULL)
        s->begins();
    run(s);
    if (s->ends != NULL)
        s->ends();
}

/* --- afterwards ------------------------------------------------------------------- */

void wd_script_recovers(wd_script *s, const char *what)
{
    if (s->base.store != NULL && !add_row(s))
        fail_msg("%s: it does not write again", what);
}

static void check_token(wd_script *s, const char *what)
{
    WD_AUTO(wd_reader) *reader = NULL;
    WD_AUTO(wd_token) *token = NULL;
    wd_error err = {0};
    if (s->token[0] == '\0')
        return;
    assert_int_equal(wd_reader_open(s->base.dir, NULL, &reader, &err), WD_OK);
    if (wd_tokens_find(reader, s->token, &token, &err) != WD_OK)
        fail_msg("%s: %s", what, err.msg);
    if (s->revoked && wd_token_revoked_ms(token) == 0)
        fail_msg("%s: the revocation was lost", what);
}

void wd_script_check(wd_script *s, const char *what)
{
    WD_AUTO(wd_reader) *reader = NULL;
    wd_audit_report report;
    wd_error err = {0};
    const wd_audit_range all = {.witnessed = s->heads, .n_witnessed = s->n_heads};
    wd_fixture_close(&s->base);
    if (wd_store_open(&s->base.options, &s->base.store, &err) != WD_OK)
        fail_msg("%s: the next start: %s", what, err.msg);
    assert_int_equal(wd_reader_open(s->base.dir, NULL, &reader, &err), WD_OK);
    if (wd_audit_verify(reader, &all, &report, &err) != WD_OK)
        fail_msg("%s: %s", what, err.msg);
    assert_int_equal(report.n_witnessed, s->n_heads);
    check_token(s, what);
    wd_script_recovers(s, what);
}
