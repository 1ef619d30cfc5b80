#include "store/token_body.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/c/limits.h"

#define NOTE_EVERY_MS 1000 /* between two looks at who uses a token */

static void body_free(wd_token_body *body)
{
    free(body->texts);
    free(body->scopes);
    free(atomic_load(&body->revoked_reason));
    free(body->last_peer);
    free(body->said);
    free(body);
}

wd_token *wd_token_ref(wd_token *token)
{
    (void)atomic_fetch_add(&wd_token_body_of(token)->count, 1);
    return token;
}

void wd_token_unref(wd_token *token)
{
    if (token != NULL && atomic_fetch_sub(&wd_token_body_of(token)->count, 1) == 1)
        body_free(wd_token_body_of(token));
}

/* --- what may change -------------------------------------------------------------- */

int64_t wd_token_expires_ms(const wd_token *token)
{
    return atomic_load(&wd_token_const_body_of(token)->expires_ms);
}

int64_t wd_token_retires_ms(const wd_token *token)
{
    return atomic_load(&wd_token_const_body_of(token)->retires_ms);
}

int64_t wd_token_revoked_ms(const wd_token *token)
{
    return atomic_load(&wd_token_const_body_of(token)->revoked_ms);
}

int64_t wd_token_last_used_ms(const wd_token *token)
{
    return atomic_load(&wd_token_const_body_of(token)->last_used_ms);
}

const char *wd_token_revoked_reason(const wd_token *token)
{
    const char *text = atomic_load(&wd_token_const_body_of(token)->revoked_reason);
    return text != NULL ? text : "";
}

const char *wd_token_unwrapped(const wd_token *token)
{
    const wd_token_body *body = wd_token_const_body_of(token);
    return atomic_load(&body->opened) ? body->unwrapped : "";
}

void wd_token_keep_reason(wd_token *token, const char *reason)
{
    char *none = NULL;
    char *copy = reason != NULL && reason[0] != '\0' ? strdup(reason) : NULL;
    char *_Atomic *slot = &wd_token_body_of(token)->revoked_reason;
    if (copy != NULL && !atomic_compare_exchange_strong(slot, &none, copy))
        free(copy);
}

void wd_token_keep_unwrapped(wd_token *token, const char *id)
{
    wd_token_body *body = wd_token_body_of(token);
    if (id[0] == '\0' || atomic_load(&body->opened))
        return;
    (void)snprintf(body->unwrapped, sizeof(body->unwrapped), "%s", id);
    atomic_store(&body->opened, true);
}

/* --- who used it ------------------------------------------------------------------ */

static void lock_notes(const wd_token *token)
{
    wd_token_body *body = (wd_token_body *)(uintptr_t)token;
    while (atomic_flag_test_and_set_explicit(&body->noting, memory_order_acquire))
        continue; /* held for two short copies */
}

static void unlock_notes(const wd_token *token)
{
    wd_token_body *body = (wd_token_body *)(uintptr_t)token;
    atomic_flag_clear_explicit(&body->noting, memory_order_release);
}

/* The URI is kept only where the binding does not tell it. */
static bool tells_uri(const wd_token *token)
{
    return strncmp(token->bind, "uri:", 4) == 0;
}

static void note(wd_token_body *body, const char *uri, const char *address)
{
    (void)snprintf(body->last_address, sizeof(body->last_address), "%s",
                   address != NULL ? address : "");
    if (uri == NULL || tells_uri(&body->token) ||
        (body->last_peer != NULL && strcmp(body->last_peer, uri) == 0))
        return;
    free(body->last_peer);
    body->last_peer = strdup(uri);
}

void wd_token_note_peer(wd_token *token, const char *uri, const char *address,
                        int64_t now_ms)
{
    wd_token_body *body = wd_token_body_of(token);
    if (atomic_flag_test_and_set_explicit(&body->noting, memory_order_acquire))
        return; /* somebody else's use is as good */
    if (now_ms - body->noted_ms >= NOTE_EVERY_MS || body->last_address[0] == '\0') {
        body->noted_ms = now_ms;
        note(body, uri, address);
    }
    unlock_notes(token);
}

void wd_token_last_peer(const wd_token *token, char *ret_uri,
                        char ret_address[WD_TOKEN_PEER_BYTES])
{
    const wd_token_body *body = wd_token_const_body_of(token);
    lock_notes(token);
    memcpy(ret_address, body->last_address, WD_TOKEN_PEER_BYTES);
    const char *uri = body->last_peer != NULL ? body->last_peer : "";
    if (body->last_peer == NULL && ret_address[0] != '\0' && tells_uri(token))
        uri = token->bind + 4;
    (void)snprintf(ret_uri, WD_URI_BYTES + 1, "%s", uri);
    unlock_notes(token);
}

/* --- building --------------------------------------------------------------------- */

/* Copies `text` to the end of the block and moves the end. */
static char *put(char **end, const char *text)
{
    char *start = *end;
    size_t size = strlen(text) + 1;
    memcpy(start, text, size);
    *end = start + size;
    return start;
}

static size_t count_scopes(const char *text)
{
    size_t n = text[0] != '\0' ? 1 : 0;
    for (; *text != '\0'; text++)
        n += *text == ' ';
    return n;
}

/* Cuts the text at its spaces, in place. */
static void split_scopes(wd_token_body *body, char *text)
{
    for (size_t i = 0; i < body->token.n_scopes; i++) {
        body->scopes[i] = text;
        text += strcspn(text, " ");
        *text++ = '\0';
    }
    body->token.scopes = body->scopes;
}

static size_t texts_size(const wd_token_fields *f)
{
    const wd_token *t = &f->token;
    return strlen(t->name) + strlen(t->owner) + strlen(t->purpose) +
           strlen(t->audience) + strlen(t->bind) + strlen(f->scopes) +
           strlen(t->parent) + 7;
}

static void copy_texts(wd_token_body *body, const wd_token_fields *f)
{
    wd_token *token = &body->token;
    char *end = body->texts;
    token->name = put(&end, f->token.name);
    token->owner = put(&end, f->token.owner);
    token->purpose = put(&end, f->token.purpose);
    token->audience = put(&end, f->token.audience);
    token->bind = put(&end, f->token.bind);
    token->parent = put(&end, f->token.parent);
    split_scopes(body, put(&end, f->scopes));
}

static void fill(wd_token_body *body, const wd_token_fields *f)
{
    copy_texts(body, f);
    memcpy(body->digest, f->digest, WD_TOKEN_DIGEST_BYTES);
    atomic_store(&body->count, 1);
    atomic_store(&body->expires_ms, f->expires_ms);
    atomic_store(&body->retires_ms, f->retires_ms);
    atomic_store(&body->revoked_ms, f->revoked_ms);
    atomic_store(&body->last_used_ms, f->last_used_ms);
    body->flushed_ms = f->last_used_ms;
    body->reserved = f->reserved;
    wd_token_keep_reason(&body->token, f->revoked_reason);
    if (f->unwrapped != NULL)
        wd_token_keep_unwrapped(&body->token, f->unwrapped);
    note(body, f->last_peer, f->last_address);
}

wd_status wd_token_build(const wd_token_fields *fields, wd_token **ret_token,
                         wd_error *err)
{
    wd_token_body *body = calloc(1, sizeof(*body));
    if (body == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a token");
    body->token = fields->token;
    body->token.n_scopes = count_scopes(fields->scopes);
    body->texts = malloc(texts_size(fields));
    body->scopes = calloc(body->token.n_scopes + 1, sizeof(*body->scopes));
    if (body->texts == NULL || body->scopes == NULL) {
        body_free(body);
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a token");
    }
    fill(body, fields);
    *ret_token = &body->token;
    return WD_OK;
}

char *wd_token_scopes_text(const char *const *scopes, size_t n)
{
    size_t size = 1;
    for (size_t i = 0; i < n; i++)
        size += strlen(scopes[i]) + 1;
    char *text = malloc(size);
    if (text == NULL)
        return NULL;
    char *end = text;
    *end = '\0';
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            *end++ = ' ';
        end = stpcpy(end, scopes[i]);
    }
    return text;
}
