/* token_steps DIR - plays the steps of a trace on a store of real tokens, one a line.
 *
 * A store's life is a process of its own: what ends it ends like a gate that is killed, and
 * the next one has what the files have. Clocks and secrets outlive it. Lines, and what
 * they do; each answers one line, OUTCOME and what is to be seen from outside:
 *
 *     new USES CHILD     a family of so many uses (0: no bound), and one issued with it,
 *                        if CHILD is a number
 *     tick, leap, back   time passes; the wall clock alone is set forward, or back
 *     rotate, force, retire, revoke N   changes of the family; N: a generation, from 0
 *     call WHO           generation N, or "c" for the child: it is used, or waits for uses
 *     write WHO          the writer reserves uses for such a call, which then tries again
 *     ask                a call with every secret, and no use: refusals go on record
 *     stop, die, reboot  the store is closed; killed; killed with its machine
 *     wipe               an empty store
 *
 * A change answers BEGUN before its first byte is written, and DURABLE when it is on disk
 * and memory does not know it yet. There it goes on with "go", and ends with "die" or
 * "reboot"; before a byte is written also with "fail" (the disk does) or "tear" (half a
 * write, and killed). "call" may come in between.
 *
 * Seen from outside: what a call with each generation is told, "/" and with the child, "/"
 * and the uses that are spent, of family and child. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/token_spend.h"
#include "tests/support/token_player.h"

#define START_MS  1800000000000LL
#define TTL_TICKS 2
#define WIPED     11 /* exit status: go on with an empty store */

static const wd_audit_row by = {.principal = "local:0"};

static wd_status make_rotation(wd_store *store, change *c, wd_error *err)
{
    return wd_tokens_rotate(store, &c->rotation, &by, err);
}

static void rotate(player *p, bool force)
{
    const wd_token_next next = {.overlap_ms = WD_TICK_MS};
    WD_AUTO_ISSUED made = {0};
    wd_error err = {0};
    outside *o = p->out;
    wd_token_name name;
    (void)wd_token_parse(o->texts[0].chars, &name);
    WD_AUTO(wd_token) *first = wd_token_table_find(wd_store_tokens(p->store), name.id);
    WD_AUTO(wd_token) *newest = wd_token_newest(first);
    if (wd_token_make_next(newest, &next, wd_store_now_ms(p->store), &made, &err) !=
        WD_OK)
        wd_player_fail("next", &err);
    change c = {.make = make_rotation,
                .rotation = {made.token, next.overlap_ms, force},
                .stops = true};
    o->texts[o->n_texts++] = made.text; /* whether anybody learns it or not */
    wd_reason reason = wd_player_run(p, &c);
    if (reason != WD_REASON_NONE)
        o->n_texts--;
    wd_player_tell(p, reason);
}

static wd_status make_retirement(wd_store *store, change *c, wd_error *err)
{
    wd_token_retirement retirement = {.id = c->id, .why = "asked"};
    return wd_tokens_retire(store, &retirement, &by, err);
}

static void retire(player *p)
{
    wd_token_name name;
    change c = {.make = make_retirement, .id = name.id, .stops = true};
    (void)wd_token_parse(p->out->texts[0].chars, &name);
    wd_player_tell(p, wd_player_run(p, &c));
}

/* In memory first, as the gate does it. */
static void take_back(player *p, size_t which)
{
    wd_token_name name;
    change c = {.make = wd_player_make_revocation, .id = name.id, .stops = true};
    (void)wd_token_parse(p->out->texts[which].chars, &name);
    (void)wd_token_table_revoke(wd_store_tokens(p->store), name.id, "",
                                wd_store_now_ms(p->store));
    wd_reason reason = wd_player_run(p, &c);
    p->owed[which] |= reason == WD_REASON_AUDIT_UNWRITABLE;
    wd_player_tell(p, reason);
}

/* --- calls, as the gate's stage "spend" takes them ------------------------------------ */

static const char *text_of(player *p, const char *who)
{
    return who[0] == 'c' ? p->out->child.chars : p->out->texts[atoi(who)].chars;
}

/* Refusals go on record, but those that wait for the writer: nobody has heard them yet. */
static void use(player *p, wd_token *token)
{
    wd_error err = {0};
    bool wait = false;
    (void)!wd_token_use(token, &wait, &err);
    if (wait)
        wd_token_wait(token);
    if (err.reason != WD_REASON_NONE && !p->armed)
        wd_player_record(p);
    wd_player_answer(p, wait ? "WAITS" : wd_player_word(err.reason));
}

void wd_player_call(player *p, const char *who)
{
    WD_AUTO(wd_token) *token = NULL;
    wd_reason reason = wd_player_check(p, text_of(p, who), &token);
    if (reason == WD_REASON_NONE) {
        use(p, token);
        return;
    }
    if (!p->armed)
        wd_player_record(p);
    wd_player_answer(p, wd_player_word(reason));
}

static wd_status make_uses(wd_store *store, change *c, wd_error *err)
{
    return wd_tokens_reserve(store, c->id, &by, err);
}

static void write_uses(player *p, const char *who)
{
    wd_token_name name;
    change c = {.make = make_uses, .id = name.id, .stops = true};
    (void)wd_token_parse(text_of(p, who), &name);
    wd_reason reason = wd_player_run(p, &c);
    WD_AUTO(wd_token) *token = wd_token_table_find(wd_store_tokens(p->store), name.id);
    wd_token_wait_end(token);
    if (reason == WD_REASON_NONE)
        use(p, token);
    else
        wd_player_tell(p, reason);
}

static void ask(player *p)
{
    bool refused = false;
    for (size_t i = 0; i < p->out->n_texts; i++)
        refused |= wd_player_check(p, p->out->texts[i].chars, NULL) != WD_REASON_NONE;
    if (p->out->child.chars[0] != '\0')
        refused |= wd_player_check(p, p->out->child.chars, NULL) != WD_REASON_NONE;
    if (refused)
        wd_player_record(p);
    wd_player_answer(p, "ASKED");
}

/* --- a family of its own -------------------------------------------------------------- */

static void issue(player *p, const char *parent, long uses, wd_token_text *ret_text)
{
    static const char *const scopes[] = {"observe:*"};
    WD_AUTO_ISSUED issued = {0};
    wd_error err = {0};
    wd_token_name name = {.id = ""};
    if (parent != NULL)
        (void)wd_token_parse(parent, &name);
    const wd_token_spec spec = {.name = "trainer",
                                .scopes = scopes,
                                .n_scopes = 1,
                                .bind = "uri:" WD_PLAYER_PEER,
                                .ttl_ms = TTL_TICKS * WD_TICK_MS,
                                .limits = {.max_uses = uses},
                                .parent = parent != NULL ? name.id : NULL};
    if (wd_tokens_issue_now(p->store, &spec, "local:0", &issued, &err) != WD_OK)
        wd_player_fail("issue", &err);
    *ret_text = issued.text;
}

/* The clocks agree again, and the time is kept. */
static void begin(player *p, const char *words)
{
    outside *o = p->out;
    char *rest = NULL;
    long uses = strtol(words, &rest, 10);
    o->mono_ms += WD_TICK_MS;
    o->wall_ms = wd_store_now_ms(p->store);
    o->child.chars[0] = '\0';
    o->n_texts = 1;
    memset(p->owed, 0, sizeof(p->owed));
    issue(p, NULL, uses, &o->texts[0]);
    if (*rest == ' ')
        issue(p, o->texts[0].chars, strtol(rest, NULL, 10), &o->child);
    wd_player_answer(p, "OK");
}

/* --- a life ---------------------------------------------------------------------------- */

static void stop(player *p)
{
    wd_player_record(p);
    wd_store_close(p->store);
    wd_player_open(p);
    wd_player_answer(p, "OK");
}

static void move_clocks(player *p, int64_t wall, int64_t mono)
{
    p->out->wall_ms += wall * WD_TICK_MS;
    p->out->mono_ms += mono * WD_TICK_MS;
    wd_player_answer(p, "OK");
}

static void play(player *p, const char *line)
{
    if (strncmp(line, "new ", 4) == 0)
        begin(p, line + 4);
    else if (strcmp(line, "tick") == 0)
        move_clocks(p, 1, 1);
    else if (strcmp(line, "leap") == 0)
        move_clocks(p, 1, 0);
    else if (strcmp(line, "back") == 0)
        move_clocks(p, -1, 0);
    else if (strcmp(line, "rotate") == 0 || strcmp(line, "force") == 0)
        rotate(p, line[0] == 'f');
    else if (strcmp(line, "retire") == 0)
        retire(p);
    else if (strncmp(line, "revoke ", 7) == 0)
        take_back(p, (size_t)atoi(line + 7));
    else if (strncmp(line, "call ", 5) == 0)
        wd_player_call(p, line + 5);
    else if (strncmp(line, "write ", 6) == 0)
        write_uses(p, line + 6);
    else if (strcmp(line, "ask") == 0)
        ask(p);
    else if (strcmp(line, "stop") == 0)
        stop(p);
    else if (strcmp(line, "die") == 0)
        wd_player_die();
    else if (strcmp(line, "reboot") == 0)
        wd_player_reboot(p);
    else if (strcmp(line, "wipe") == 0)
        _exit(WIPED);
    else
        wd_player_fail("no such step", NULL);
}

_Noreturn static void live(outside *out, const char *dir, bool again)
{
    player p;
    char line[64];
    wd_player_begin(&p, out, dir);
    if (again)
        wd_player_answer(&p, "OK");
    while (wd_player_line(line, sizeof(line)))
        play(&p, line);
    _exit(0);
}

static void wipe(const char *dir)
{
    char command[256];
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    if (system(command) != 0) /* NOLINT(cert-env33-c,concurrency-mt-unsafe): a test */
        wd_player_fail("wipe", NULL);
}

int main(int argc, char **argv)
{
    outside *out = mmap(NULL, sizeof(*out), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (argc != 2 || out == MAP_FAILED)
        return 2;
    *out = (outside){.wall_ms = START_MS, .mono_ms = 1000, .boot = 1};
    for (int status = WIPED;;) {
        pid_t pid = fork();
        if (pid == 0)
            live(out, argv[1], status == WD_PLAYER_DIED);
        int how = 0;
        if (pid < 0 || waitpid(pid, &how, 0) != pid || !WIFEXITED(how))
            return 1;
        status = WEXITSTATUS(how);
        if (status == WIPED)
            wipe(argv[1]);
        if (status != WD_PLAYER_DIED && status != WIPED)
            return status;
    }
}
