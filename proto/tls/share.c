#include "proto/tls/share.h"

#include <stdlib.h>
#include <string.h>

static wd_share **place_of(wd_shares *all, const char *uri)
{
    uint32_t hash = 2166136261U; /* FNV-1a; the names are our CA's */

    for (const char *c = uri; *c != '\0'; c++)
        hash = (hash ^ (uint8_t)*c) * 16777619U;
    wd_share **at = &all->buckets[hash & (WD_SHARE_BUCKETS - 1)];
    while (*at != NULL && strcmp((*at)->uri, uri) != 0)
        at = &(*at)->next;
    return at;
}

wd_share *wd_shares_join(wd_shares *all, const char *uri)
{
    wd_share **at = place_of(all, uri);

    if (*at == NULL) {
        size_t size = strlen(uri) + 1;
        *at = calloc(1, sizeof(**at) + size);
        if (*at == NULL)
            return NULL;
        memcpy((*at)->uri, uri, size);
    }
    (*at)->n_accounts++;
    return *at;
}

void wd_shares_leave(wd_shares *all, wd_share *share)
{
    if (--share->n_accounts > 0)
        return;
    wd_share **at = place_of(all, share->uri);
    *at = share->next;
    free(share);
}

void wd_share_hold(wd_share *share, wd_kind kind, wd_holder *holder, uint64_t bytes)
{
    holder->bytes += bytes;
    if (holder->listed)
        share->yields[kind] += bytes;
}

void wd_share_let_go(wd_share *share, wd_kind kind, wd_holder *holder, uint64_t bytes)
{
    holder->bytes -= bytes;
    if (holder->listed)
        share->yields[kind] -= bytes;
}

void wd_share_enlist(wd_share *share, wd_kind kind, wd_holder *holder)
{
    if (holder->listed)
        return;
    holder->listed = true;
    share->yields[kind] += holder->bytes;
    holder->next = NULL;
    holder->prev = share->newest[kind];
    if (holder->prev != NULL)
        holder->prev->next = holder;
    else
        share->oldest[kind] = holder;
    share->newest[kind] = holder;
}

void wd_share_unlist(wd_share *share, wd_kind kind, wd_holder *holder)
{
    if (!holder->listed)
        return;
    holder->listed = false;
    share->yields[kind] -= holder->bytes;
    if (holder->prev != NULL)
        holder->prev->next = holder->next;
    else
        share->oldest[kind] = holder->next;
    if (holder->next != NULL)
        holder->next->prev = holder->prev;
    else
        share->newest[kind] = holder->prev;
}

/* What one could give back, and hold more than `above` until the last of it. */
static uint64_t could_yield(const wd_share *share, wd_kind kind, uint64_t above)
{
    uint64_t bytes = 0;

    for (const wd_holder *at = share->oldest[kind];
         at != NULL && share->used[kind] - bytes > above; at = at->next)
        bytes += at->bytes;
    return bytes;
}

bool wd_shares_could_yield(const wd_shares *all, wd_kind kind, uint64_t above,
                           uint64_t wanted)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < WD_SHARE_BUCKETS; i++)
        for (const wd_share *at = all->buckets[i]; at != NULL; at = at->next)
            bytes += could_yield(at, kind, above);
    return bytes >= wanted;
}

wd_share *wd_shares_most(const wd_shares *all, wd_kind kind, uint64_t above)
{
    wd_share *most = NULL;

    for (size_t i = 0; i < WD_SHARE_BUCKETS; i++) {
        for (wd_share *at = all->buckets[i]; at != NULL; at = at->next) {
            if (at->oldest[kind] == NULL || at->used[kind] <= above)
                continue;
            if (most == NULL || at->yields[kind] > most->yields[kind])
                most = at;
        }
    }
    return most;
}
