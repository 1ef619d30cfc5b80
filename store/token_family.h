/* token_family.h - what the generations of one token have in common: their line, their
 * parent, what they may still spend.
 *
 * Threads: the line of generations changes under the table's lock and is read by anybody:
 *          tokens never leave their table. Counters are atomic.
 * Owns:    nothing; the table frees it. Internal to store/. */
#ifndef WD_STORE_TOKEN_FAMILY_H
#define WD_STORE_TOKEN_FAMILY_H

#include "store/token_body.h"
#include "store/token_table.h"

typedef struct wd_family {
    struct wd_family
        *parent; /* NULL: nobody's child, or the parent is not in the table */
    struct wd_family *next;        /* the table's list */
    bool child;                    /* it has a parent, in the table or not */
    wd_token_body *_Atomic newest; /* generation; NULL: only wraps yet */
    const wd_token *first;         /* the token that is called as the family */
    wd_token_limits limits;

    _Atomic int64_t spent;    /* uses */
    _Atomic int64_t reserved; /* uses that the database has given away */
    _Atomic int64_t waiting;  /* calls that wait for uses to be reserved */
    _Atomic int64_t full_ns;  /* rate: when the bucket would be full again, monotonic */
    _Atomic int64_t running;  /* calls under way */
} wd_family;

/* How far a line of parents may lead. */
bool wd_family_too_deep(const wd_family *family);

/* Whether `family` is `ancestor` or comes from it. */
bool wd_family_descends(const wd_family *family, const wd_family *ancestor);

/* A generation of it holds now. */
bool wd_family_holds(const wd_family *family, int64_t now_ms);

/* When the last of its generations ends, unless something changes. */
int64_t wd_family_ends_ms(const wd_family *family);

void wd_token_table_each_family(wd_token_table *table,
                                void (*visit)(void *arg, wd_family *family), void *arg);

/* After loading: what a rate allows at once may have been used just before the restart. */
void wd_token_table_empty_rates(wd_token_table *table, int64_t mono_ns);

/* How many uses of the family the database should give away more, in one go; 0: enough are.
 * `reserved`: as the transaction sees it. */
int64_t wd_family_lacks(const wd_family *family, int64_t reserved);

#endif
