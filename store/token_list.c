#include "store/token_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How a token compares: by a number or a text, then by its id. */
typedef struct sorting {
    const char *name;
    int64_t (*number)(const wd_token *token);
    const char *(*text)(const wd_token *token);
} sorting;

static int64_t by_created(const wd_token *token)
{
    return token->created_ms;
}

static const char *by_name(const wd_token *token)
{
    return token->name;
}

static const char *by_owner(const wd_token *token)
{
    return token->owner;
}

static const char *by_id(const wd_token *token)
{
    return token->id;
}

static const sorting sortings[] = {
    {"created", by_created, NULL},
    {"expires", wd_token_expires_ms, NULL},
    {"used", wd_token_last_used_ms, NULL},
    {"name", NULL, by_name},
    {"owner", NULL, by_owner},
    {"id", NULL, by_id},
};

/* The last token of the page before. */
typedef struct place {
    bool set;
    int64_t number;
    char text[WD_TOKEN_CURSOR_BYTES];
    char id[WD_TOKEN_ID_CHARS + 1];
} place;

/* A token with what it is sorted by, which may change meanwhile. */
typedef struct entry {
    wd_token *token;
    int64_t number;
} entry;

typedef struct reading {
    const wd_token_filter *filter;
    const sorting *sorting;
    bool down;
    place after;
    entry *heap; /* the first `limit` so far: a heap, the last of them on top */
    size_t n;
    size_t limit;
    uint64_t total; /* that pass */
    uint64_t later; /* of these, after the place */
} reading;

/* --- order ------------------------------------------------------------------------ */

static int by_number(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int turned(const reading *r, int order)
{
    return r->down ? -order : order;
}

static int compare(const reading *r, const entry *a, const entry *b)
{
    int order = r->sorting->text != NULL
                    ? strcmp(r->sorting->text(a->token), r->sorting->text(b->token))
                    : by_number(a->number, b->number);
    return turned(r, order != 0 ? order : strcmp(a->token->id, b->token->id));
}

static bool is_after(const reading *r, const entry *e)
{
    if (!r->after.set)
        return true;
    int order = r->sorting->text != NULL
                    ? strcmp(r->sorting->text(e->token), r->after.text)
                    : by_number(e->number, r->after.number);
    return turned(r, order != 0 ? order : strcmp(e->token->id, r->after.id)) > 0;
}

/* --- the heap --------------------------------------------------------------------- */

static void swap(entry *a, entry *b)
{
    entry kept = *a;
    *a = *b;
    *b = kept;
}

static void sift_up(reading *r, size_t at)
{
    while (at > 0) {
        size_t parent = (at - 1) / 2;
        if (compare(r, &r->heap[parent], &r->heap[at]) >= 0)
            return;
        swap(&r->heap[parent], &r->heap[at]);
        at = parent;
    }
}

static void sift_down(reading *r, size_t at)
{
    for (;;) {
        size_t last = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < r->n; child++) {
            if (compare(r, &r->heap[child], &r->heap[last]) > 0)
                last = child;
        }
        if (last == at)
            return;
        swap(&r->heap[last], &r->heap[at]);
        at = last;
    }
}

static void look_at(void *arg, wd_token *token)
{
    reading *r = arg;
    entry e = {.token = token};
    if (r->filter != NULL && !wd_token_filter_match(r->filter, token))
        return;
    r->total++;
    if (r->sorting->number != NULL)
        e.number = r->sorting->number(token);
    if (!is_after(r, &e))
        return;
    r->later++;
    if (r->n < r->limit) {
        r->heap[r->n] = e;
        sift_up(r, r->n++);
    } else if (compare(r, &e, &r->heap[0]) < 0) {
        r->heap[0] = e;
        sift_down(r, 0);
    }
}

/* --- questions -------------------------------------------------------------------- */

static wd_status read_sort(reading *r, const char *sort, wd_error *err)
{
    if (sort == NULL || sort[0] == '\0')
        sort = "created";
    r->down = sort[0] == '-';
    for (size_t i = 0; i < sizeof(sortings) / sizeof(sortings[0]); i++) {
        if (strcmp(sortings[i].name, sort + r->down) == 0) {
            r->sorting = &sortings[i];
            return WD_OK;
        }
    }
    return wd_refuse(err, WD_REASON_FIELD_INVALID,
                     "sort: \"%.32s\" is none of created, expires, used, name, owner, "
                     "id, with - before it for the other way round",
                     sort);
}

/* KEY.ID, where a text may hold points itself. */
static wd_status read_cursor(reading *r, const char *cursor, wd_error *err)
{
    if (cursor == NULL || cursor[0] == '\0')
        return WD_OK;
    const char *point = strrchr(cursor, '.');
    char *end = NULL;
    if (strlen(cursor) >= WD_TOKEN_CURSOR_BYTES || point == NULL ||
        !wd_token_id_valid(point + 1))
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "cursor: not one that a list has given");
    r->after.set = true;
    r->after.number = strtoimax(cursor, &end, 10);
    if (r->sorting->number != NULL && end != point)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "cursor: was given for another sort");
    memcpy(r->after.text, cursor, (size_t)(point - cursor));
    memcpy(r->after.id, point + 1, sizeof(r->after.id));
    return WD_OK;
}

static void write_cursor(const reading *r, const entry *last, char *cursor)
{
    if (r->sorting->text != NULL)
        (void)snprintf(cursor, WD_TOKEN_CURSOR_BYTES, "%s.%s",
                       r->sorting->text(last->token), last->token->id);
    else
        (void)snprintf(cursor, WD_TOKEN_CURSOR_BYTES, "%" PRId64 ".%s", last->number,
                       last->token->id);
}

/* Takes the last off the heap until it is in order. */
static void put_in_order(reading *r)
{
    size_t n = r->n;
    while (r->n > 1) {
        swap(&r->heap[0], &r->heap[--r->n]);
        sift_down(r, 0);
    }
    r->n = n;
}

static wd_status fill_page(const reading *r, wd_token_page *page, wd_error *err)
{
    page->tokens = calloc(r->n + 1, sizeof(wd_token *));
    if (page->tokens == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a list of tokens");
    for (size_t i = 0; i < r->n; i++)
        page->tokens[i] = wd_token_ref(r->heap[i].token);
    page->n = r->n;
    page->total = r->total;
    if (r->later > r->n)
        write_cursor(r, &r->heap[r->n - 1], page->cursor);
    return WD_OK;
}

wd_status wd_token_page_read(wd_token_table *table, const wd_token_query *query,
                             wd_token_page *ret_page, wd_error *err)
{
    reading r = {.filter = query->filter,
                 .limit = query->limit != 0 ? query->limit : WD_TOKEN_PAGE};
    *ret_page = (wd_token_page){.n = 0};
    if (r.limit > WD_TOKEN_PAGE_MAX)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "limit: %u, at most %u",
                         query->limit, WD_TOKEN_PAGE_MAX);
    WD_TRY(read_sort(&r, query->sort, err));
    WD_TRY(read_cursor(&r, query->cursor, err));
    r.heap = calloc(r.limit, sizeof(entry));
    if (r.heap == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a list of tokens");
    wd_token_table_each(table, look_at, &r);
    put_in_order(&r);
    wd_status status = fill_page(&r, ret_page, err);
    free(r.heap);
    return status;
}

void wd_token_page_done(wd_token_page *page)
{
    for (size_t i = 0; i < page->n; i++)
        wd_token_unref(page->tokens[i]);
    free(page->tokens);
    *page = (wd_token_page){.n = 0};
}
