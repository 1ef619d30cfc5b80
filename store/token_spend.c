#include "store/token_spend.h"

#include "store/token_family.h"

#define NS_PER_MS      1000000LL
#define CHUNKS         16 /* a family's uses are reserved in about so many pieces */
#define RETRY_PLACE_MS 100

static wd_family *family_of(const wd_token *token)
{
    return wd_token_const_body_of(token)->family;
}

/* --- places ----------------------------------------------------------------------- */

static bool is_full(const wd_family *family, int64_t running)
{
    return family->limits.concurrency != 0 &&
           running > (int64_t)family->limits.concurrency;
}

static wd_status no_place(const wd_family *family, wd_error *err)
{
    (void)wd_refuse(err, WD_REASON_QUOTA,
                    "token %s and those issued with it may have %u calls under way "
                    "(concurrency), and have them",
                    family->first->id, family->limits.concurrency);
    if (err != NULL)
        err->retry_after_ms = RETRY_PLACE_MS;
    return WD_RESOURCE_EXHAUSTED;
}

static void leave_below(wd_family *family, const wd_family *end)
{
    for (; family != end; family = family->parent)
        (void)atomic_fetch_sub(&family->running, 1);
}

static wd_status take_places(wd_family *line, wd_error *err)
{
    for (wd_family *family = line; family != NULL; family = family->parent) {
        int64_t running = atomic_fetch_add(&family->running, 1) + 1;
        if (is_full(family, running)) {
            leave_below(line, family->parent);
            return no_place(family, err);
        }
    }
    return WD_OK;
}

void wd_token_leave(wd_token *token)
{
    leave_below(family_of(token), NULL);
}

bool wd_token_room_left(const wd_token *token, wd_error *err)
{
    for (const wd_family *family = family_of(token); family != NULL;
         family = family->parent) {
        if (is_full(family, atomic_load(&family->running) + 1)) {
            (void)no_place(family, err);
            return false;
        }
    }
    return true;
}

/* --- rate ------------------------------------------------------------------------- */

/* One call's part of the span. */
static int64_t step_ns(const wd_family *family)
{
    return (int64_t)family->limits.rate_per_ms * NS_PER_MS /
           (int64_t)family->limits.rate_calls;
}

static int64_t span_ns(const wd_family *family)
{
    return (int64_t)family->limits.rate_per_ms * NS_PER_MS;
}

/* How long until the rate lets a call through; 0 or less: now. *ret_full: when the bucket
 * would be full again after it. */
static int64_t rate_wait_ns(const wd_family *family, int64_t full_ns, int64_t mono_ns,
                            int64_t *ret_full)
{
    int64_t from = full_ns > mono_ns ? full_ns : mono_ns;
    *ret_full = from + step_ns(family);
    return *ret_full - mono_ns - span_ns(family);
}

static wd_status too_fast(const wd_family *family, int64_t wait_ns, wd_error *err)
{
    (void)wd_refuse(err, WD_REASON_QUOTA,
                    "token %s and those issued with it may make %u calls in %u ms "
                    "(rate), and have made them",
                    family->first->id, family->limits.rate_calls,
                    family->limits.rate_per_ms);
    if (err != NULL)
        err->retry_after_ms = (uint64_t)(wait_ns / NS_PER_MS) + 1;
    return WD_RESOURCE_EXHAUSTED;
}

static wd_status take_rate(wd_family *family, int64_t mono_ns, wd_error *err)
{
    int64_t full = atomic_load(&family->full_ns);
    int64_t next = 0;
    do {
        int64_t wait = rate_wait_ns(family, full, mono_ns, &next);
        if (wait > 0)
            return too_fast(family, wait, err);
    } while (!atomic_compare_exchange_weak(&family->full_ns, &full, next));
    return WD_OK;
}

static void give_rate_back(wd_family *family, const wd_family *end)
{
    for (; family != end; family = family->parent) {
        if (family->limits.rate_calls != 0)
            (void)atomic_fetch_sub(&family->full_ns, step_ns(family));
    }
}

static wd_status take_rates(wd_family *line, int64_t mono_ns, wd_error *err)
{
    for (wd_family *family = line; family != NULL; family = family->parent) {
        if (family->limits.rate_calls == 0 || take_rate(family, mono_ns, err) == WD_OK)
            continue;
        give_rate_back(line, family);
        return WD_RESOURCE_EXHAUSTED;
    }
    return WD_OK;
}

bool wd_token_rate_left(const wd_token *token, int64_t mono_ns, wd_error *err)
{
    for (const wd_family *family = family_of(token); family != NULL;
         family = family->parent) {
        int64_t next = 0;
        if (family->limits.rate_calls == 0)
            continue;
        int64_t wait =
            rate_wait_ns(family, atomic_load(&family->full_ns), mono_ns, &next);
        if (wait > 0) {
            (void)too_fast(family, wait, err);
            return false;
        }
    }
    return true;
}

static void empty_rate(void *arg, wd_family *family)
{
    const int64_t *mono_ns = arg;
    if (family->limits.rate_calls != 0)
        atomic_store(&family->full_ns, *mono_ns + span_ns(family) - step_ns(family));
}

void wd_token_table_empty_rates(wd_token_table *table, int64_t mono_ns)
{
    wd_token_table_each_family(table, empty_rate, &mono_ns);
}

wd_status wd_token_enter(wd_token *token, int64_t mono_ns, wd_error *err)
{
    wd_family *line = family_of(token);
    WD_TRY(take_places(line, err));
    if (take_rates(line, mono_ns, err) == WD_OK)
        return WD_OK;
    leave_below(line, NULL);
    return WD_RESOURCE_EXHAUSTED;
}

/* --- uses ------------------------------------------------------------------------- */

static wd_status all_spent(const wd_family *family, wd_error *err)
{
    return wd_refuse(err, WD_REASON_TOKEN_USES_SPENT,
                     "token %s and those issued with it had %lld uses, and all are "
                     "spent: ask for a new one",
                     family->first->id, (long long)family->limits.max_uses);
}

static bool take_use(wd_family *family)
{
    int64_t spent = atomic_load(&family->spent);
    do {
        if (spent >= atomic_load(&family->reserved))
            return false;
    } while (!atomic_compare_exchange_weak(&family->spent, &spent, spent + 1));
    return true;
}

static void give_uses_back(wd_family *family, const wd_family *end)
{
    for (; family != end; family = family->parent) {
        if (family->limits.max_uses != 0)
            (void)atomic_fetch_sub(&family->spent, 1);
    }
}

wd_status wd_token_use(wd_token *token, bool *ret_wait, wd_error *err)
{
    wd_family *line = family_of(token);
    *ret_wait = false;
    for (wd_family *family = line; family != NULL; family = family->parent) {
        int64_t most = family->limits.max_uses;
        if (most == 0 || take_use(family))
            continue;
        give_uses_back(line, family);
        if (atomic_load(&family->spent) >= most)
            return all_spent(family, err);
        *ret_wait = true;
        return WD_OK;
    }
    return WD_OK;
}

bool wd_token_uses_left(const wd_token *token, wd_error *err)
{
    for (const wd_family *family = family_of(token); family != NULL;
         family = family->parent) {
        int64_t most = family->limits.max_uses;
        if (most != 0 && atomic_load(&family->spent) >= most) {
            (void)all_spent(family, err);
            return false;
        }
    }
    return true;
}

static void wait_in_line(wd_family *family, int64_t change)
{
    for (; family != NULL; family = family->parent)
        (void)atomic_fetch_add(&family->waiting, change);
}

void wd_token_wait(wd_token *token)
{
    wait_in_line(family_of(token), 1);
}

void wd_token_wait_end(wd_token *token)
{
    wait_in_line(family_of(token), -1);
}

int64_t wd_family_lacks(const wd_family *family, int64_t reserved)
{
    int64_t most = family->limits.max_uses;
    int64_t lacking =
        atomic_load(&family->waiting) - (reserved - atomic_load(&family->spent));
    if (most == 0 || lacking <= 0 || reserved >= most)
        return 0;
    int64_t chunk = most / CHUNKS;
    if (chunk > WD_TOKEN_CHUNK)
        chunk = WD_TOKEN_CHUNK;
    if (chunk < lacking)
        chunk = lacking;
    return chunk < most - reserved ? chunk : most - reserved;
}

bool wd_token_is_counted(const wd_token *token)
{
    for (const wd_family *family = family_of(token); family != NULL;
         family = family->parent) {
        if (family->limits.max_uses != 0)
            return true;
    }
    return token->retires_old;
}

bool wd_token_ends_overlap(const wd_token *token, int64_t now_ms)
{
    const wd_token_body *older = wd_token_const_body_of(token)->older;
    return token->retires_old && older != NULL &&
           wd_token_state_at(&older->token, now_ms) == WD_TOKEN_RETIRING;
}
