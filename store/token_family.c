/* A token's state: its own, its family's, its parents'. */
#include "store/token_family.h"

#include <string.h>

#include "store/token_table.h"

static const char *const state_names[] = {
    [WD_TOKEN_ACTIVE] = "active",   [WD_TOKEN_RETIRING] = "retiring",
    [WD_TOKEN_NOT_YET] = "not_yet", [WD_TOKEN_EXPIRED] = "expired",
    [WD_TOKEN_IDLE] = "expired",    [WD_TOKEN_REVOKED] = "revoked",
    [WD_TOKEN_RETIRED] = "retired", [WD_TOKEN_ORPHANED] = "orphaned",
    [WD_TOKEN_SPENT] = "spent",
};

const char *wd_token_state_name(wd_token_state state)
{
    size_t n = sizeof(state_names) / sizeof(state_names[0]);
    return (size_t)state < n ? state_names[state] : "unknown";
}

static bool is_idle(const wd_token *token, int64_t now_ms)
{
    int64_t since = wd_token_last_used_ms(token);
    if (token->idle_ms == 0)
        return false;
    if (since < token->not_before_ms)
        since = token->not_before_ms;
    return now_ms - since >= token->idle_ms;
}

/* Without regard to others. */
static wd_token_state own_state(const wd_token *token, int64_t now_ms)
{
    int64_t retires = wd_token_retires_ms(token);
    if (wd_token_revoked_ms(token) != 0)
        return WD_TOKEN_REVOKED;
    if ((retires != 0 && now_ms >= retires) || wd_token_unwrapped(token)[0] != '\0')
        return WD_TOKEN_RETIRED;
    if (now_ms >= wd_token_expires_ms(token))
        return WD_TOKEN_EXPIRED;
    if (is_idle(token, now_ms))
        return WD_TOKEN_IDLE;
    if (now_ms + WD_TOKEN_LEEWAY_MS < token->not_before_ms)
        return WD_TOKEN_NOT_YET;
    return retires != 0 ? WD_TOKEN_RETIRING : WD_TOKEN_ACTIVE;
}

static bool holds(wd_token_state state)
{
    return state == WD_TOKEN_ACTIVE || state == WD_TOKEN_RETIRING;
}

/* More than two generations never hold: the newest, and the one before it. */
bool wd_family_holds(const wd_family *family, int64_t now_ms)
{
    const wd_token_body *newest = atomic_load(&family->newest);
    if (newest == NULL)
        return false;
    if (holds(own_state(&newest->token, now_ms)))
        return true;
    return newest->older != NULL && holds(own_state(&newest->older->token, now_ms));
}

static bool parents_hold(const wd_family *family, int64_t now_ms)
{
    for (; family->child; family = family->parent) {
        if (family->parent == NULL || !wd_family_holds(family->parent, now_ms))
            return false;
    }
    return true;
}

static bool is_spent(const wd_family *family)
{
    return family->limits.max_uses != 0 &&
           atomic_load(&family->spent) >= family->limits.max_uses;
}

wd_token_state wd_token_state_at(const wd_token *token, int64_t now_ms)
{
    wd_token_state state = own_state(token, now_ms);
    const wd_family *family = wd_token_const_body_of(token)->family;
    if (family == NULL || !(holds(state) || state == WD_TOKEN_NOT_YET))
        return state;
    if (!parents_hold(family, now_ms))
        return WD_TOKEN_ORPHANED;
    return is_spent(family) ? WD_TOKEN_SPENT : state;
}

bool wd_token_holds(const wd_token *token, int64_t now_ms)
{
    return holds(wd_token_state_at(token, now_ms));
}

static int64_t ends_ms(const wd_token *token)
{
    int64_t expires = wd_token_expires_ms(token);
    int64_t retires = wd_token_retires_ms(token);
    if (wd_token_revoked_ms(token) != 0)
        return 0;
    return retires != 0 && retires < expires ? retires : expires;
}

int64_t wd_family_ends_ms(const wd_family *family)
{
    const wd_token_body *newest = atomic_load(&family->newest);
    if (newest == NULL)
        return 0;
    int64_t ends = ends_ms(&newest->token);
    int64_t older = newest->older != NULL ? ends_ms(&newest->older->token) : 0;
    return older > ends ? older : ends;
}

bool wd_family_descends(const wd_family *family, const wd_family *ancestor)
{
    for (; family != NULL; family = family->parent) {
        if (family == ancestor)
            return true;
    }
    return false;
}

bool wd_family_too_deep(const wd_family *family)
{
    unsigned depth = 0;
    for (; family != NULL; family = family->parent)
        depth++;
    return depth > WD_TOKEN_DEPTH;
}

int64_t wd_token_parent_ends_ms(const wd_token *token)
{
    const wd_family *family = wd_token_const_body_of(token)->family;
    if (family == NULL || !family->child)
        return INT64_MAX;
    return family->parent != NULL ? wd_family_ends_ms(family->parent) : 0;
}

int64_t wd_token_uses(const wd_token *token)
{
    const wd_family *family = wd_token_const_body_of(token)->family;
    return family != NULL ? atomic_load(&family->spent) : 0;
}

uint32_t wd_token_running(const wd_token *token)
{
    const wd_family *family = wd_token_const_body_of(token)->family;
    int64_t n = family != NULL ? atomic_load(&family->running) : 0;
    return n > 0 ? (uint32_t)n : 0;
}

bool wd_token_descends(const wd_token *token, const wd_token *ancestor)
{
    const wd_family *family = wd_token_const_body_of(token)->family;
    const wd_family *other = wd_token_const_body_of(ancestor)->family;
    return family != NULL && family != other && wd_family_descends(family, other);
}

unsigned wd_token_depth(const wd_token *token)
{
    unsigned depth = 0;
    const wd_family *family = wd_token_const_body_of(token)->family;
    for (; family != NULL && family->parent != NULL; family = family->parent)
        depth++;
    return depth;
}

wd_token *wd_token_newest(const wd_token *token)
{
    const wd_family *family = wd_token_const_body_of(token)->family;
    wd_token_body *newest = family != NULL ? atomic_load(&family->newest) : NULL;
    return newest != NULL ? wd_token_ref(&newest->token) : NULL;
}

void wd_token_successor(const wd_token *token, char ret_id[WD_TOKEN_ID_CHARS + 1])
{
    const wd_family *family = wd_token_const_body_of(token)->family;
    const wd_token_body *at = family != NULL ? atomic_load(&family->newest) : NULL;
    ret_id[0] = '\0';
    for (; at != NULL && token->generation > 0; at = at->older) {
        if (at->token.generation == token->generation + 1)
            memcpy(ret_id, at->token.id, sizeof(at->token.id));
    }
}
