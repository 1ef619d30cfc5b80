#include "store/token_body.h"

#include <stdlib.h>
#include <string.h>

static void body_free(wd_token_body *body)
{
    free(body->texts);
    free(body->scopes);
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

int64_t wd_token_revoked_ms(const wd_token *token)
{
    return atomic_load(&wd_token_const_body_of(token)->revoked_ms);
}

int64_t wd_token_last_used_ms(const wd_token *token)
{
    return atomic_load(&wd_token_const_body_of(token)->last_used_ms);
}

wd_token_state wd_token_state_at(const wd_token *token, int64_t now_ms)
{
    if (wd_token_revoked_ms(token) != 0)
        return WD_TOKEN_REVOKED;
    if (now_ms >= token->expires_ms)
        return WD_TOKEN_EXPIRED;
    if (now_ms + WD_TOKEN_LEEWAY_MS < token->not_before_ms)
        return WD_TOKEN_NOT_YET;
    return WD_TOKEN_ACTIVE;
}

const char *wd_token_state_name(wd_token_state state)
{
    switch (state) {
    case WD_TOKEN_ACTIVE:
        return "active";
    case WD_TOKEN_NOT_YET:
        return "not_yet";
    case WD_TOKEN_EXPIRED:
        return "expired";
    case WD_TOKEN_REVOKED:
        return "revoked";
    }
    return "unknown";
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
    return strlen(f->name) + strlen(f->owner) + strlen(f->purpose) +
           strlen(f->audience) + strlen(f->bind) + strlen(f->scopes) +
           strlen(f->parent) + strlen(f->revoked_reason) + 8;
}

static void fill(wd_token_body *body, const wd_token_fields *f)
{
    wd_token *token = &body->token;
    char *end = body->texts;
    token->kind = f->kind;
    memcpy(token->id, f->id, WD_TOKEN_ID_CHARS);
    token->name = put(&end, f->name);
    token->owner = put(&end, f->owner);
    token->purpose = put(&end, f->purpose);
    token->audience = put(&end, f->audience);
    token->bind = put(&end, f->bind);
    token->parent = put(&end, f->parent);
    token->revoked_reason = put(&end, f->revoked_reason);
    token->created_ms = f->created_ms;
    token->not_before_ms = f->not_before_ms;
    token->expires_ms = f->expires_ms;
    split_scopes(body, put(&end, f->scopes));
    memcpy(body->digest, f->digest, WD_TOKEN_DIGEST_BYTES);
    atomic_store(&body->count, 1);
    atomic_store(&body->revoked_ms, f->revoked_ms);
    atomic_store(&body->last_used_ms, f->last_used_ms);
    body->flushed_ms = f->last_used_ms;
}

wd_status wd_token_build(const wd_token_fields *fields, wd_token **ret_token,
                         wd_error *err)
{
    wd_token_body *body = calloc(1, sizeof(*body));
    if (body == NULL)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for a token");
    body->token.n_scopes = count_scopes(fields->scopes);
    body->texts = malloc(texts_size(fields));
    body->scopes = calloc(body->token.n_scopes + 1, sizeof(*body->scopes));
    if (body->texts == NULL || body->scopes == NULL) {
        body_free(body);
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for a token");
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
