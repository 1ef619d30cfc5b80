#include "proto/tls/half_open.h"

#include <stdlib.h>
#include <string.h>

typedef struct fifo {
    wd_half_open_link *oldest, *newest;
    size_t n;
} fifo;

typedef struct wd_half_open_host {
    struct wd_half_open_host *next;           /* of its bucket */
    struct wd_half_open_host *before, *after; /* of its rank */
    uint8_t address[16];
    size_t n; /* of both kinds */
    fifo silent, spoken;
} host;

static fifo *list_of(const wd_half_open_link *link)
{
    return link->spoken ? &link->host->spoken : &link->host->silent;
}

static void append(fifo *list, wd_half_open_link *link)
{
    link->prev = list->newest;
    link->next = NULL;
    if (list->newest != NULL)
        list->newest->next = link;
    else
        list->oldest = link;
    list->newest = link;
    list->n++;
}

static void unlink_from(fifo *list, wd_half_open_link *link)
{
    if (link->prev != NULL)
        link->prev->next = link->next;
    else
        list->oldest = link->next;
    if (link->next != NULL)
        link->next->prev = link->prev;
    else
        list->newest = link->prev;
    list->n--;
}

static wd_half_open_rank *rank_of(wd_half_open *all, size_t n)
{
    return &all->ranks[n < WD_HALF_OPEN_HOST ? n : WD_HALF_OPEN_HOST];
}

static void leave_rank(wd_half_open *all, host *of)
{
    wd_half_open_rank *rank = rank_of(all, of->n);

    if (of->before != NULL)
        of->before->after = of->after;
    else
        rank->first = of->after;
    if (of->after != NULL)
        of->after->before = of->before;
    else
        rank->last = of->before;
}

static void enter_rank(wd_half_open *all, host *of)
{
    wd_half_open_rank *rank = rank_of(all, of->n);

    of->before = rank->last;
    of->after = NULL;
    if (rank->last != NULL)
        rank->last->after = of;
    else
        rank->first = of;
    rank->last = of;
    if (of->n > all->top)
        all->top = of->n;
}

/* One of those that have most; NULL: there is nobody. */
static host *of_most(wd_half_open *all)
{
    while (all->top > 0 && rank_of(all, all->top)->first == NULL)
        all->top--;
    return all->top > 0 ? rank_of(all, all->top)->first : NULL;
}

static host **place_of(wd_half_open *all, const uint8_t address[16])
{
    uint32_t hash = 2166136261U; /* FNV-1a: at worst a longer bucket */

    for (size_t i = 0; i < 16; i++)
        hash = (hash ^ address[i]) * 16777619U;
    host **at = &all->buckets[hash & (WD_HALF_OPEN_BUCKETS - 1)];
    while (*at != NULL && memcmp((*at)->address, address, 16) != 0)
        at = &(*at)->next;
    return at;
}

bool wd_half_open_add(wd_half_open *all, wd_half_open_link *link,
                      const uint8_t address[16])
{
    host **at = place_of(all, address);

    if (*at == NULL) {
        *at = calloc(1, sizeof(**at));
        if (*at == NULL)
            return false;
        memcpy((*at)->address, address, 16);
    } else {
        leave_rank(all, *at);
    }
    link->host = *at;
    link->spoken = false;
    link->host->n++;
    all->n++;
    enter_rank(all, link->host);
    append(&link->host->silent, link);
    return true;
}

void wd_half_open_spoke(wd_half_open_link *link)
{
    if (link->host == NULL || link->spoken)
        return;
    unlink_from(&link->host->silent, link);
    link->spoken = true;
    append(&link->host->spoken, link);
}

void wd_half_open_remove(wd_half_open *all, wd_half_open_link *link)
{
    host *of = link->host;

    if (of == NULL)
        return;
    unlink_from(list_of(link), link);
    link->host = NULL;
    leave_rank(all, of);
    all->n--;
    if (--of->n > 0) {
        enter_rank(all, of);
        return;
    }
    host **at = place_of(all, of->address);
    *at = of->next;
    free(of);
}

static wd_half_open_link *oldest_of(const host *of, const wd_half_open_link *newest)
{
    if (of->silent.n >= of->spoken.n && of->silent.oldest != newest)
        return of->silent.oldest;
    return of->spoken.oldest;
}

wd_half_open_link *wd_half_open_excess(wd_half_open *all,
                                       const wd_half_open_link *newest,
                                       wd_half_open_most most)
{
    const host *of = newest->host;

    if (of == NULL)
        return NULL;
    if (of->n <= most.host)
        of = all->n > most.all ? of_most(all) : NULL;
    return of != NULL ? oldest_of(of, newest) : NULL;
}
