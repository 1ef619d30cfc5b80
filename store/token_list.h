/* token_list.h - tokens of a table that pass a filter, sorted, a page at a time.
 *
 * Threads: any.
 * Owns:    a page holds a count of each of its tokens.
 * Source:  ListRequest of proto/warded/v1/token.proto. */
#ifndef WD_STORE_TOKEN_LIST_H
#define WD_STORE_TOKEN_LIST_H

#include "store/token_filter.h"
#include "store/token_table.h"

#define WD_TOKEN_PAGE         100U
#define WD_TOKEN_PAGE_MAX     10000U
#define WD_TOKEN_CURSOR_BYTES 96U

typedef struct wd_token_query {
    const wd_token_filter *filter; /* NULL: all */
    const char *sort;              /* "created" when "": see ListRequest */
    uint32_t limit;                /* 0: WD_TOKEN_PAGE */
    const char *cursor;            /* ret->cursor of the page before; "": the first */
} wd_token_query;

typedef struct wd_token_page {
    wd_token **tokens;
    size_t n;
    uint64_t total;                     /* all that pass, on whatever page */
    char cursor[WD_TOKEN_CURSOR_BYTES]; /* "": the last page */
} wd_token_page;

/* Errors: INVALID_ARGUMENT FIELD_INVALID: sort, limit or cursor; RESOURCE_EXHAUSTED */
WD_MUST_USE wd_status wd_token_page_read(wd_token_table *table,
                                         const wd_token_query *query,
                                         wd_token_page *ret_page, wd_error *err);
void wd_token_page_done(wd_token_page *page);
#define WD_AUTO_PAGE __attribute__((cleanup(wd_token_page_done))) wd_token_page

#endif
