#include "tests/unit/store/life_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "store/token_spend.h"

static const char *const scopes[] = {"observe:*", "env:*"};
static const wd_audit_row by = {.principal = "local:0"};

wd_token_spec wd_life_spec(void)
{
    return (wd_token_spec){
        .name = "trainer", .scopes = scopes, .n_scopes = 2, .bind = "uri:" TRAINER};
}

wd_token *wd_life_token(wd_fixture *f, const char *text)
{
    char id[WD_TOKEN_ID_CHARS + 1] = "";
    if (!wd_token_claimed_id(text, id))
        (void)snprintf(id, sizeof(id), "%.10s", text); /* an id, or what begins so */
    WD_AUTO(wd_token) *token = wd_token_table_find(wd_store_tokens(f->store), id);
    assert_non_null(token);
    return token;
}

wd_token_text wd_life_issue(wd_fixture *f, const wd_token_spec *spec)
{
    WD_AUTO_ISSUED issued = {0};
    wd_error err = {0};
    if (wd_tokens_issue_now(f->store, spec, "local:0", &issued, &err) != WD_OK)
        fail_msg("issue: %s", err.msg);
    return issued.text;
}

/* --- jobs --------------------------------------------------------------------------- */

typedef struct life_job {
    wd_store_job job; /* first */
    const char *id;
    int64_t number;
    wd_token_rotation rotation;
    wd_token *wrap;
    wd_token *fresh;
} life_job;

static wd_status run(wd_fixture *f, life_job *j,
                     wd_status (*apply)(wd_store *, wd_store_job *, wd_error *),
                     wd_reason *ret_reason)
{
    wd_error err = {0};
    j->job.apply = apply;
    wd_status status = wd_store_run(f->store, &j->job, &err);
    if (ret_reason != NULL)
        *ret_reason = err.reason;
    else if (status != WD_OK)
        fail_msg("%s", err.msg);
    return status;
}

static wd_status apply_rotate(wd_store *store, wd_store_job *job, wd_error *err)
{
    return wd_tokens_rotate(store, &((life_job *)job)->rotation, &by, err);
}

static wd_status apply_retire(wd_store *store, wd_store_job *job, wd_error *err)
{
    wd_token_retirement retirement = {.id = ((life_job *)job)->id, .why = "asked"};
    return wd_tokens_retire(store, &retirement, &by, err);
}

static wd_status apply_renew(wd_store *store, wd_store_job *job, wd_error *err)
{
    const life_job *j = (life_job *)job;
    return wd_tokens_renew(store, j->id, j->number, &by, err);
}

static wd_status apply_reserve(wd_store *store, wd_store_job *job, wd_error *err)
{
    return wd_tokens_reserve(store, ((life_job *)job)->id, &by, err);
}

static wd_status apply_unwrap(wd_store *store, wd_store_job *job, wd_error *err)
{
    const life_job *j = (life_job *)job;
    wd_error cause = {0};
    if (wd_tokens_unwrap(store, j->wrap, j->fresh, &by, &cause) == WD_OK)
        return WD_OK;
    if (cause.reason == WD_REASON_TOKEN_RETIRED)
        WD_TRY(wd_tokens_wrap_reused(store, j->wrap, &by, err));
    *err = cause;
    return cause.reason == WD_REASON_TOKEN_RETIRED ? WD_OK : cause.status;
}

/* --- changes ------------------------------------------------------------------------ */

static void make_next(wd_fixture *f, const char *id, const wd_token_next *next,
                      wd_token_issued *ret_made)
{
    WD_AUTO(wd_token) *newest = wd_token_newest(wd_life_token(f, id));
    assert_non_null(newest);
    assert_int_equal(
        wd_token_make_next(newest, next, wd_store_now_ms(f->store), ret_made, NULL),
        WD_OK);
}

wd_status wd_life_rotate(wd_fixture *f, const char *id, const wd_token_next *next,
                         wd_token_text *ret_text, wd_reason *ret_reason)
{
    static const wd_token_next usual = {.overlap_ms = WD_TOKEN_OVERLAP_MS};
    WD_AUTO_ISSUED made = {0};
    if (next == NULL)
        next = &usual;
    make_next(f, id, next, &made);
    life_job j = {.rotation = {.fresh = made.token, .overlap_ms = next->overlap_ms}};
    wd_status status = run(f, &j, apply_rotate, ret_reason);
    if (status == WD_OK)
        *ret_text = made.text;
    return status;
}

void wd_life_force(wd_fixture *f, const char *id, wd_token_text *ret_text)
{
    static const wd_token_next usual = {.overlap_ms = WD_TOKEN_OVERLAP_MS};
    WD_AUTO_ISSUED made = {0};
    make_next(f, id, &usual, &made);
    life_job j = {.rotation = {.fresh = made.token,
                               .overlap_ms = usual.overlap_ms,
                               .force = true}};
    (void)run(f, &j, apply_rotate, NULL);
    *ret_text = made.text;
}

wd_status wd_life_retire(wd_fixture *f, const char *id, wd_reason *ret_reason)
{
    char cut[WD_TOKEN_ID_CHARS + 1];
    life_job j = {.id = cut};
    (void)snprintf(cut, sizeof(cut), "%.10s", id);
    return run(f, &j, apply_retire, ret_reason);
}

wd_status wd_life_renew(wd_fixture *f, const char *id, int64_t expires_ms,
                        wd_reason *ret_reason)
{
    life_job j = {.id = id, .number = expires_ms};
    return run(f, &j, apply_renew, ret_reason);
}

wd_status wd_life_reserve(wd_fixture *f, const char *id)
{
    life_job j = {.id = id};
    return run(f, &j, apply_reserve, NULL);
}

wd_status wd_life_unwrap(wd_fixture *f, const char *id, wd_token_text *ret_text,
                         wd_reason *ret_reason)
{
    WD_AUTO_ISSUED made = {0};
    wd_token *wrap = wd_life_token(f, id);
    WD_AUTO(wd_token) *newest = wd_token_newest(wrap);
    uint32_t generation = newest != NULL ? newest->generation + 1 : 1;
    assert_int_equal(wd_token_make_unwrapped(wrap, generation,
                                             wd_store_now_ms(f->store), &made, NULL),
                     WD_OK);
    life_job j = {.wrap = wrap, .fresh = made.token};
    wd_status status = run(f, &j, apply_unwrap, ret_reason);
    if (status == WD_OK)
        *ret_text = made.text;
    return status;
}

void wd_life_revoke(wd_fixture *f, const char *id)
{
    bool was_live = false;
    const wd_token_revocation revocation = {id, "", "local:0"};
    assert_int_equal(wd_tokens_revoke_now(f->store, &revocation, &was_live, NULL),
                     WD_OK);
}

/* --- checks ------------------------------------------------------------------------- */

wd_reason wd_life_check_as(wd_fixture *f, const char *text, const char *peer)
{
    const wd_token_proof proof = {.token = text,
                                  .peer_uri = peer,
                                  .peer_address = "127.0.0.1:1",
                                  .gate_uri = GATE,
                                  .now_ms = wd_store_now_ms(f->store)};
    wd_error err = {0};
    WD_AUTO(wd_token) *token = NULL;
    wd_status status = wd_token_check(wd_store_tokens(f->store), &proof, &token, &err);
    assert_int_equal(status == WD_OK, err.reason == WD_REASON_NONE);
    return err.reason;
}

wd_reason wd_life_check(wd_fixture *f, const char *text)
{
    return wd_life_check_as(f, text, TRAINER);
}

void wd_life_restart(wd_fixture *f)
{
    wd_fixture_close(f);
    wd_fixture_open(f);
}
