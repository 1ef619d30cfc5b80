#include "tests/support/token_player.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/token_table.h"

#define VFS "token_steps"

static const wd_audit_row by = {.principal = "local:0"};

void wd_player_fail(const char *what, const wd_error *err)
{
    (void)fprintf(stderr, "token_steps: %s: %s\n", what, err != NULL ? err->msg : "");
    _exit(1);
}

/* --- clocks --------------------------------------------------------------------------- */

static int64_t wall_ms(const wd_clock *clock)
{
    return ((const player *)clock)->out->wall_ms;
}

static int64_t mono_ms(const wd_clock *clock)
{
    return ((const player *)clock)->out->mono_ms;
}

static int64_t mono_ns(const wd_clock *clock)
{
    return mono_ms(clock) * 1000000;
}

void wd_player_die(void)
{
    _exit(WD_PLAYER_DIED);
}

/* Another boot: the monotonic clock begins anew. */
void wd_player_reboot(const player *p)
{
    p->out->boot++;
    p->out->mono_ms = 1000;
    wd_player_die();
}

/* --- what is seen from outside -------------------------------------------------------- */

wd_reason wd_player_check(player *p, const char *text, wd_token **ret_token)
{
    const wd_token_proof proof = {
        .token = text, .peer_uri = WD_PLAYER_PEER, .now_ms = wd_store_now_ms(p->store)};
    wd_error err = {0};
    WD_AUTO(wd_token) *token = NULL;
    if (wd_token_check(wd_store_tokens(p->store), &proof, &token, &err) != WD_OK)
        return err.reason;
    if (ret_token != NULL)
        *ret_token = WD_STEAL(token);
    return WD_REASON_NONE;
}

static int64_t uses_of(player *p, const char *text)
{
    char id[WD_TOKEN_ID_CHARS + 1];
    if (!wd_token_claimed_id(text, id))
        return 0;
    WD_AUTO(wd_token) *token = wd_token_table_find(wd_store_tokens(p->store), id);
    return token != NULL ? wd_token_uses(token) : 0;
}

const char *wd_player_word(wd_reason reason)
{
    return reason == WD_REASON_NONE ? "OK" : wd_reason_name(reason);
}

static const char *seen(player *p, const wd_token_text *text)
{
    return wd_player_word(wd_player_check(p, text->chars, NULL));
}

void wd_player_answer(player *p, const char *outcome)
{
    outside *o = p->out;
    (void)printf("%s ", outcome);
    for (size_t i = 0; i < o->n_texts; i++)
        (void)printf("%s%s", i > 0 ? "," : "", seen(p, &o->texts[i]));
    (void)printf("/%s/%lld,%lld\n",
                 o->child.chars[0] != '\0' ? seen(p, &o->child) : "-",
                 (long long)uses_of(p, o->texts[0].chars),
                 (long long)uses_of(p, o->child.chars));
    (void)fflush(stdout);
}

/* --- the disk, which is where a change can be stopped --------------------------------- */

bool wd_player_line(char *line, size_t size)
{
    size_t n = 0;
    char c = 0;
    while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n') {
        if (n + 1 < size)
            line[n++] = c;
    }
    line[n] = '\0';
    return c == '\n';
}

/* Reads what is to become of the change. True: the write is to fail. */
static bool held(player *p, const char *where)
{
    char line[64];
    wd_player_answer(p, where);
    while (wd_player_line(line, sizeof(line))) {
        if (strcmp(line, "die") == 0)
            wd_player_die();
        if (strcmp(line, "reboot") == 0)
            wd_player_reboot(p);
        if (strcmp(line, "go") == 0)
            return false;
        p->torn = strcmp(line, "tear") == 0;
        if (p->torn || strcmp(line, "fail") == 0)
            return true;
        if (strncmp(line, "call ", 5) == 0)
            wd_player_call(p, line + 5);
        else
            wd_player_fail("not while a change is under way", NULL);
    }
    _exit(1);
}

static void on_disk(void *arg, const wd_shim_event *event)
{
    player *p = arg;
    if (p->torn && event->when == WD_SHIM_AFTER)
        wd_player_die();
    if (!p->armed || (event->open_flags & SQLITE_OPEN_WAL) == 0)
        return;
    if (event->op == WD_SHIM_WRITE && event->when == WD_SHIM_BEFORE && !p->begun) {
        p->begun = true;
        if (held(p, "BEGUN")) {
            p->shim.fail_code = SQLITE_IOERR_WRITE;
            p->shim.fail_half = p->torn;
            p->shim.fail_more = 1000;
            p->shim.fail_in[WD_SHIM_WRITE] = 1;
        }
    }
    if (event->op == WD_SHIM_WRITE && event->offset > 0)
        p->framed = true; /* more than the header of the WAL */
    if (event->op == WD_SHIM_SYNC && event->when == WD_SHIM_AFTER && p->framed &&
        !p->synced && event->code == SQLITE_OK) {
        p->synced = true;
        (void)held(p, "DURABLE");
    }
}

/* --- a life ---------------------------------------------------------------------------- */

void wd_player_open(player *p)
{
    char boot[16];
    wd_error err = {0};
    (void)snprintf(boot, sizeof(boot), "%u", p->out->boot);
    const wd_store_options options = {.dir = p->dir,
                                      .create = true,
                                      .reserve_bytes = 1U << 20,
                                      .clock = &p->clock,
                                      .vfs = VFS,
                                      .boot_id = boot};
    if (wd_store_open(&options, &p->store, &err) != WD_OK)
        wd_player_fail("open", &err);
}

void wd_player_begin(player *p, outside *out, const char *dir)
{
    *p = (player){.clock = {wall_ms, mono_ms, mono_ns}, .out = out, .dir = dir};
    p->shim.event = on_disk;
    p->shim.arg = p;
    if (wd_shim_register(&p->shim, VFS) != SQLITE_OK)
        wd_player_fail("vfs", NULL);
    wd_player_open(p);
    while (out->n_texts > 1 && wd_player_check(p, out->texts[out->n_texts - 1].chars,
                                               NULL) == WD_REASON_TOKEN_UNKNOWN)
        out->n_texts--; /* never came to be */
}

/* --- changes -------------------------------------------------------------------------- */

static wd_status apply(wd_store *store, wd_store_job *job, wd_error *err)
{
    change *c = (change *)job;
    WD_TRY(c->make(store, c, err));
    c->p->armed = c->stops;
    return WD_OK;
}

wd_status wd_player_make_revocation(wd_store *store, change *c, wd_error *err)
{
    return wd_tokens_revoke(store, c->id, "", &by, err);
}

/* In one group with what is owed, as the writer's retries are. */
wd_reason wd_player_run(player *p, change *c)
{
    change owed[WD_PLAYER_GENERATIONS] = {0};
    wd_token_name names[WD_PLAYER_GENERATIONS];
    c->p = p;
    c->job.apply = apply;
    c->job.next = NULL;
    wd_store_job *jobs = &c->job;
    for (size_t i = 0; i < p->out->n_texts; i++) {
        (void)wd_token_parse(p->out->texts[i].chars, &names[i]);
        owed[i] = (change){.job = {.apply = apply, .next = jobs},
                           .p = p,
                           .id = names[i].id,
                           .make = wd_player_make_revocation};
        if (p->owed[i])
            jobs = &owed[i].job;
    }
    p->begun = p->framed = p->synced = false;
    (void)wd_group_write(p->store, jobs);
    p->armed = false;
    p->shim.fail_in[WD_SHIM_WRITE] = 0;
    p->shim.fail_more = 0;
    if (c->job.error.reason != WD_REASON_AUDIT_UNWRITABLE)
        memset(p->owed, 0, sizeof(p->owed));
    return c->job.error.reason;
}

static wd_status make_row(wd_store *store, change *c, wd_error *err)
{
    const wd_audit_row row = {.event = "call.end", .principal = "local:0"};
    (void)c;
    return wd_audit_append(store, &row, err);
}

/* What a gate does before it answers: the outcome is on record, and the time with it. */
void wd_player_record(player *p)
{
    change c = {.make = make_row};
    if (wd_player_run(p, &c) != WD_REASON_NONE)
        wd_player_fail("record", &c.job.error);
}

void wd_player_tell(player *p, wd_reason reason)
{
    if (reason != WD_REASON_AUDIT_UNWRITABLE)
        wd_player_record(p);
    wd_player_answer(p, wd_player_word(reason));
}
