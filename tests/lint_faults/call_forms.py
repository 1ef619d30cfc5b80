"""One line of C each: ways to write a field of a call, and what only looks like one.

The lines stand in functions with these parameters, in a file that may write what is
"set by audit" and what is of the queues.
"""

HEAD = """
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include "server/call.h"
typedef struct wd_call alias;
typedef struct row { bool claimed; uint8_t id_bytes[16]; } row;
struct holder { wd_call *call; };
void take(void *p); void look(const void *p); void loose(int n, ...);
int order(const void *a, const void *b); void any(char *(*f)(const char *, int));
void fail(wd_error *err); void step(size_t *n); void read_only(const wd_error *err);
#define SET(call, value) ((call)->claimed = (value))
#define CLAIMED(call) ((call)->claimed)
"""
FUNCTION = """
void f{n}(wd_call *c, wd_call **ret, wd_task *t, void *v, size_t n, row *r,
          struct holder *h, const wd_call *k);
void f{n}(wd_call *c, wd_call **ret, wd_task *t, void *v, size_t n, row *r,
          struct holder *h, const wd_call *k)
{{
(void)c, (void)ret, (void)t, (void)v, (void)n, (void)r, (void)h, (void)k;
{line}
}}
"""

WRITES = """
c->claimed = true;
(c)->claimed = true;
((c))->claimed = true;
c ->  claimed  = true;
c[0].claimed = true;
(*c).claimed = true;
(*ret)->claimed = true;
ret[0]->claimed = true;
h->call->claimed = true;
(n ? c : *ret)->claimed = true;
(*&c)->claimed = true;
*&c->claimed = true;
(c->claimed) = true;
c->claimed |= true;
c->n_pairs += 2;
c->n_pairs <<= 2;
c->stage++;
++c->stage;
--(c->stage);
c->error.status = WD_OK;
c->frame.size = 3;
c->error.msg[2] = 'x';
c->id_bytes[n] = 3;
*c->id_bytes = 3;
*(c->id_bytes + 2) = 3;
n[c->id_bytes] = 3;
c->plan = v;
c->pairs = v;
c->work_free = free;
c->error = (wd_error){.status = WD_OK};
if ((c->claimed = n > 3)) take(v);
for (c->stage = 0; n > 3; n--) take(v);
/* const */ c->claimed = true;
const bool b = c->claimed = true; (void)b;
SET(c, true);
CLAIMED(c) = true;
((wd_call *)t)->claimed = true;
((struct wd_call *)v)->claimed = true;
((alias *)v)->claimed = true;
((typeof(c))v)->claimed = true;
((typeof(*c) *)v)->claimed = true;
WD_CONTAINER(t, wd_call, task)->claimed = true;
alias *a = c; a->claimed = true;
typeof(c) a = c; a->claimed = true;
__auto_type a = c; a->claimed = true;
memcpy(c->id_bytes, v, 16);
memcpy(&c->id_bytes, v, 16);
memcpy(&(c->id_bytes), v, 16);
memcpy(&c->id_bytes[1], v, 2);
memcpy(c->id_bytes + 1, v, 2);
memcpy(&(*c).id_bytes, v, 2);
memmove(c->digest, v, 2);
memset(&c->error, 0, sizeof(c->error));
memset(c->id_text, 0, 3);
__builtin_memcpy(c->id_bytes, v, 3);
__builtin___memset_chk(c->id_bytes, 0, 3, 16);
snprintf(c->id_text, 3, "x");
sprintf(c->id_text, "x");
strncpy(c->id_text, "x", 3);
strcpy(c->id_text, "x");
strcat(c->id_text, "x");
(void)sscanf("3", "%zu", &c->stage);
printf("x%hhn", (signed char *)c->id_bytes);
(void)read(0, c->id_bytes, 16);
struct iovec io = {c->id_bytes, 16}; (void)io;
struct iovec io = {.iov_base = &c->digest}; (void)io;
fail(&c->error);
fail(&(c->error));
fail(&(*ret)->error);
step(&c->stage);
take(&c->payload);
take(c->digest);
loose(1, &c->stage);
loose(1, c->digest);
bool *p = &c->claimed; (void)p;
wd_error *e = n ? &c->error : NULL; (void)e;
uint8_t *p = c->id_bytes; (void)p;
wd_token **token = &c->token; (void)token;
*(bool *)&c->claimed = true;
*(bool *)(void *)&c->claimed = true;
*(bool *)(uintptr_t)&c->claimed = true;
((char *)c->id_text)[0] = 'x';
((char *)(uintptr_t)c->id_text)[0] = 'x';
((uint8_t *)&c->digest)[0] = 3;
((row *)&c->claimed)->claimed = true;
(void)__atomic_exchange_n(&c->stage, 1, 1);
(void)__sync_fetch_and_add(&c->stage, 1);
(void)__builtin_add_overflow(n, n, &c->stage);
*c = (wd_call){0};
*c = *k;
**ret = *k;
c[0] = *k;
memset(c, 0, sizeof(*c));
memcpy(c, v, 8);
memset(*ret, 0, 8);
memset(h->call, 0, 8);
memset(&*c, 0, 8);
take(c);
free(c);
void *p = c; (void)p;
char *p = (char *)c; (void)p;
((row *)(void *)c)->claimed = true;
uintptr_t p = (uintptr_t)c; (void)p;
*(char **)ret = v;
void *p = ret; (void)p;
((wd_call *)(uintptr_t)k)->task.run = NULL;
wd_call here; (void)here;
wd_call here = {.claimed = true}; (void)here;
static wd_call calls[3]; (void)calls;
take(&(wd_call){.claimed = true});
struct { wd_call call; } s; (void)s;
struct { wd_call calls[2]; } s; (void)s;
union { wd_call *call; char *bytes; } u = {c}; (void)u;
loose(1, c->id_text + 3);
*((char *)&c->task + 8) = 3;
*(bool *)(void *)&c->task = true;
((void (*)(const size_t *))step)(&c->stage);
((void (*)())step)(&c->stage);
__atomic_store_n(&c->claimed, true, __ATOMIC_SEQ_CST);
(void)strtol("3", (char **)&c->plan, 10);
char *dash = strchr(c->id_text, '-'); if (dash != NULL) *dash = '_';
char *p = strrchr(c->id_text, '-'); (void)p;
char *p = strstr(c->id_text, "-"); (void)p;
char *p = strpbrk(c->id_text + 1, "-"); (void)p;
char *p = strchrnul((c->id_text), '-'); (void)p;
char *p = basename(c->id_text); (void)p;
char *p; p = strchr(c->id_text, '-'); (void)p;
char *p = n ? strchr(c->id_text, '-') : NULL; (void)p;
char *p = strchr(c->id_text, '-') + 1; (void)p;
char *p = (char *)strchr(c->id_text, '-'); (void)p;
char *p = __builtin_strchr(c->id_text, '-'); (void)p;
uint8_t *p = memchr(c->id_bytes, 3, 16); (void)p;
uint8_t *p = memrchr(&c->digest, 3, 4); (void)p;
bool *p = memchr(&c->claimed, 0, 1); (void)p;
char *p = memmem(c->id_text, 3, "x", 1); (void)p;
void *p = bsearch(v, c->id_bytes, 16, 1, order); (void)p;
void *p = lfind(v, c->id_bytes, &n, 1, order); (void)p;
char *p; (void)strtol(c->id_text, &p, 10);
char *p; (void)strtoul(c->id_text, &p, 10);
char *p; (void)strtoull(&c->id_text[2], &p, 16);
char *p; (void)strtod(c->id_text, &p);
char *p = strptime(c->id_text, "%Y", v); (void)p;
*strchr(c->id_text, '-') = '_';
strchr(c->id_text, '-')[0] = '_';
take(strchr(c->id_text, '-'));
const char *text = c->id_text; *strchr(text, '-') = '_';
if (strrchr(k->id_text, '-') == v) take(strrchr(k->id_text, '-'));
char *(*find)(const char *, int) = strchr; (void)find;
any(strrchr);
any((n ? strchr : strrchr));
"""

# By itself: an error in a file keeps assembler from the matchers.
ASSEMBLER = '__asm__ volatile("" : : "r"(v) : "memory");'

NO_WRITES = """
c->begun = true;
(*ret)->begun = true;
c->task.run = NULL;
c->job.error.status = WD_OK;
fail(&c->job.error);
memset(&c->live, 0, sizeof(c->live));
c->resumed = WD_NEXT;
c->pairs[0].known = true;
c->pairs->status = WD_OK;
memset(c->pairs, 0, sizeof(*c->pairs));
r->claimed = true;
memcpy(r->id_bytes, c->id_bytes, 16);
bool claimed = c->claimed; claimed = true; (void)claimed;
if (c->stage == 1 || c->stage <= 2 || c->stage != 3) take(v);
/* c->claimed = true; */ look("c->claimed = true");
const wd_error *e = &c->error; read_only(e);
read_only(&c->error);
const bool *p = &c->claimed; (void)p;
const uint8_t *p = c->id_bytes; look(p);
look(c); look(k); look(&k->error);
printf("%s %zu", c->id_text, c->stage);
loose(1, c->stage, v);
(void)memcmp(c->id_bytes, v, 16);
wd_call_free(c);
wd_call *mine = calloc(1, sizeof(*mine)); (void)mine;
*ret = c; h->call = c; c = NULL;
const wd_call *o = WD_CONTAINER(t, wd_call, task); look(o->id_text);
wd_call *o = c; (void)(o == c && o);
if (c && !*ret) take(c->plan);
c->work_free(c->work);
take(c->plan);
free(c->pairs);
wd_error e = c->error; e.status = WD_OK; fail(&e);
wd_task **next = &t->next; *next = &c->task;
size_t n_pairs = c->n_pairs << 2; step(&n_pairs);
WD_ASSERT(c->claimed == false);
uintptr_t p = (uintptr_t)v; (void)p;
const char *p = strchr(c->id_text, '-'); look(p);
const char *p = n ? strstr(c->id_text, "-") : NULL; look(p);
const char *p; if ((p = strrchr(c->id_text, '-')) != NULL) look(p);
const uint8_t *p = memchr(c->id_bytes, 0, 16); look(p);
const void *p = bsearch(v, c->id_bytes, 16, 1, order); look(p);
bool has = strchr(c->id_text, '-') != NULL; (void)has;
if (strpbrk(c->id_text, "-_") == NULL) take(v);
look(strchr(c->id_text, '-'));
char *p = strchr(v, '-'); *p = '_';
char *p = strstr(v, c->id_text); *p = '_';
char *p = memchr(&c->job.error, 0, 3); *p = 1;
char *p = bsearch(c->id_text, v, n, 1, order); *p = 1;
char *p = strdup(c->id_text); free(p);
(void)strtol(c->id_text, NULL, 10);
(void)strtoul(c->id_text + 2, NULL, 0);
char *p; (void)strtol(v, &p, 10); *p = '_';
char *p = (strchr)(v, '-'); *p = '_';
"""


def forms(lines: str) -> list[str]:
    """The forms of a list above."""
    return [line for line in lines.splitlines() if line]
