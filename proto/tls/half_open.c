#include "proto/tls/half_open.h"

#include <stdlib.h>
#include <string.h>

typedef struct fifo {
    wd_half_open_link *oldest, *newest;
} fifo;

typedef struct wd_half_open_host {
    struct wd_half_open_host *next; /* of its bucket */
    uint8_t address[16];
    size_t n;
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
    }
    link->host = *at;
    link->spoken = false;
    link->host->n++;
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
    if (--of->n > 0)
        return;
    host **at = place_of(all, of->address);
    *at = of->next;
    free(of);
}

wd_half_open_link *wd_half_open_excess(const wd_half_open_link *newest, size_t most)
{
    const host *of = newest->host;

    if (of == NULL || of->n <= most)
        return NULL;
    if (of->silent.oldest != NULL && of->silent.oldest != newest)
        return of->silent.oldest;
    return of->spoken.oldest;
}
