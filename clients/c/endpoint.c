#include "clients/c/endpoint.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/c/hostname.h"

#define SCHEME "tls+tcp://"

static bool host_char(char c)
{
    return isalnum((unsigned char)c) != 0 || c == '.' || c == '_' || c == '-';
}

/* Addresses as inet_ntop writes them, names in lower case. */
static bool normalise(const char *text, size_t size, char ret_host[WD_HOST_BYTES])
{
    uint8_t address[16];
    char host[WD_HOST_BYTES] = "";
    if (size == 0 || size >= WD_HOST_BYTES)
        return false;
    memcpy(host, text, size);
    if (inet_pton(AF_INET, host, address) == 1)
        return inet_ntop(AF_INET, address, ret_host, WD_HOST_BYTES) != NULL;
    if (inet_pton(AF_INET6, host, address) == 1)
        return inet_ntop(AF_INET6, address, ret_host, WD_HOST_BYTES) != NULL;
    if (host[size - 1] == '.')
        host[--size] = '\0';
    for (size_t i = 0; i < size; i++) {
        if (!host_char(host[i]))
            return false;
        host[i] = (char)tolower((unsigned char)host[i]);
    }
    memcpy(ret_host, host, size + 1);
    return size > 0;
}

static bool parse_port(const char *text, size_t size, uint16_t *ret_port)
{
    unsigned port = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9' || size > 5)
            return false;
        port = port * 10 + (unsigned)(text[i] - '0');
    }
    if (size == 0 || port == 0 || port > UINT16_MAX)
        return false;
    *ret_port = (uint16_t)port;
    return true;
}

typedef struct halves {
    size_t host_at, host_size, port_at; /* port_at 0: none */
} halves;

static bool split_bracketed(const char *text, size_t size, halves *ret)
{
    const char *end = memchr(text, ']', size);
    if (end == NULL)
        return false;
    size_t after = (size_t)(end - text) + 1;
    *ret = (halves){1, after - 2, 0};
    if (after == size)
        return true;
    ret->port_at = after + 1;
    return text[after] == ':';
}

/* A lone colon parts host and port; several are an IPv6 address without brackets. */
static bool split(const char *text, size_t size, halves *ret)
{
    if (size > 0 && text[0] == '[')
        return split_bracketed(text, size, ret);
    const char *colon = memchr(text, ':', size);
    *ret = (halves){0, size, 0};
    if (colon == NULL)
        return true;
    size_t at = (size_t)(colon - text);
    if (memchr(colon + 1, ':', size - at - 1) == NULL)
        *ret = (halves){0, at, at + 1};
    return true;
}

wd_status wd_endpoint_parse(const char *text, size_t size, wd_endpoint *ret,
                            wd_error *err)
{
    const size_t scheme = sizeof(SCHEME) - 1;
    wd_endpoint endpoint = {.port = 0};
    halves at;
    if (size > scheme && memcmp(text, SCHEME, scheme) == 0) {
        text += scheme;
        size -= scheme;
    }
    if (!split(text, size, &at) ||
        !normalise(text + at.host_at, at.host_size, endpoint.host))
        return wd_fail(err, WD_INVALID_ARGUMENT, "\"%.*s\" is not HOST:PORT",
                       (int)(size < 100 ? size : 100), text);
    if (at.port_at != 0 &&
        !parse_port(text + at.port_at, size - at.port_at, &endpoint.port))
        return wd_fail(err, WD_INVALID_ARGUMENT, "\"%.*s\": a port is 1 to 65535",
                       (int)(size < 100 ? size : 100), text);
    *ret = endpoint;
    return WD_OK;
}

void wd_endpoint_format(const wd_endpoint *endpoint,
                        char ret_text[WD_ENDPOINT_TEXT_BYTES])
{
    bool v6 = strchr(endpoint->host, ':') != NULL;
    (void)snprintf(ret_text, WD_ENDPOINT_TEXT_BYTES, "%s%s%s:%u", v6 ? "[" : "",
                   endpoint->host, v6 ? "]" : "", endpoint->port);
}

/* --- the server file ---------------------------------------------------------------- */

enum { WORDS_OF_LINE = 4 };

typedef struct words {
    char *word[WORDS_OF_LINE];
    size_t n; /* one more than fits: WORDS_OF_LINE */
} words;

static words split_words(char *line)
{
    words found = {.n = 0};
    char *rest = NULL;
    line[strcspn(line, "#")] = '\0';
    for (char *word = strtok_r(line, " \t\r", &rest);
         word != NULL && found.n < WORDS_OF_LINE; word = strtok_r(NULL, " \t\r", &rest))
        found.word[found.n++] = word;
    return found;
}

static wd_status parse_one(const char *word, wd_endpoint *ret, wd_error *err)
{
    WD_TRY(wd_endpoint_parse(word, strlen(word), ret, err));
    if (!wd_hostname_ok(ret->host))
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "\"%.100s\" is no host; write " WD_HOSTNAME_ALLOWED, word);
    if (ret->port == 0)
        ret->port = WD_ENDPOINT_PORT;
    return WD_OK;
}

static wd_status parse_line(const words *line, wd_servers *servers, wd_error *err)
{
    if (line->n == 0)
        return WD_OK;
    if (line->n != 1 && (line->n != 3 || strcmp(line->word[1], "as") != 0))
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "it begins with %.64s; a line is `HOST:PORT`, or `ADDRESS as "
                       "HOST:PORT` to dial the one and expect the other",
                       line->word[0]);
    if (servers->n == WD_SERVERS_COUNT)
        return wd_fail(err, WD_INVALID_ARGUMENT, "more than %u gates",
                       WD_SERVERS_COUNT);
    wd_server *server = &servers->server[servers->n];
    WD_TRY(parse_one(line->word[0], &server->dial, err));
    WD_TRY(parse_one(line->word[line->n - 1], &server->expect, err));
    servers->n++;
    return WD_OK;
}

/* What stands in lines of `text`, which is changed. */
static wd_status parse_lines(char *text, wd_servers *servers, wd_error *err)
{
    size_t number = 0;
    for (char *line = text; line != NULL;) {
        char *end = strchr(line, '\n');
        if (end != NULL)
            *end = '\0';
        words found = split_words(line);
        wd_error why = {0};
        number++;
        if (parse_line(&found, servers, &why) != WD_OK)
            return wd_fail(err, WD_INVALID_ARGUMENT, "line %zu: %s", number, why.msg);
        line = end != NULL ? end + 1 : NULL;
    }
    return WD_OK;
}

wd_status wd_servers_parse(const char *text, wd_servers *ret, wd_error *err)
{
    char *copy = strdup(text);
    ret->n = 0;
    if (copy == NULL)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for the server file");
    wd_status status = parse_lines(copy, ret, err);
    free(copy);
    if (status == WD_OK && ret->n == 0)
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "it names no gate; write a line `HOST:PORT`");
    return status;
}

/* --- what a certificate asserts ------------------------------------------------------- */

wd_status wd_endpoint_asserted(const char *fact, const wd_endpoint *endpoint, bool *ret,
                               wd_error *err)
{
    size_t n = 0;
    bool found = false;
    for (const char *word = fact; word != NULL; n++) {
        const char *space = strchr(word, ' ');
        size_t size = space != NULL ? (size_t)(space - word) : strlen(word);
        wd_endpoint one = {.port = 0};
        WD_TRY(wd_endpoint_parse(word, size, &one, err));
        found = found || (strcmp(one.host, endpoint->host) == 0 &&
                          (one.port == 0 || one.port == endpoint->port));
        word = space != NULL ? space + 1 : NULL;
    }
    if (n > WD_ASSERTED_COUNT)
        return wd_fail(err, WD_INVALID_ARGUMENT, "%zu endpoints; at most %u", n,
                       WD_ASSERTED_COUNT);
    *ret = found;
    return WD_OK;
}
