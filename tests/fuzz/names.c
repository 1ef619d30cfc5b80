/* SPIFFE names and the deny list: a name that parses is the text it came from, and a list
 * denies what its lines say. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/tls/deny.h"
#include "proto/tls/spiffe.h"
#include "tests/fuzz/fuzz.h"

static void check_composed(const wd_spiffe *name, const char *text)
{
    char again[2048];
    bool pool = name->pool[0] != '\0';

    (void)snprintf(again, sizeof(again), "spiffe://%s/ns/%s/owner/%s%s%s/%s/%s",
                   name->domain, name->ns, name->owner, pool ? "/pool/" : "",
                   name->pool, name->kind == WD_SPIFFE_GATE ? "gate" : "client",
                   name->name);
    FUZZ_CHECK(strcmp(again, text) == 0);
    FUZZ_CHECK(name->kind == WD_SPIFFE_GATE || !pool);
    FUZZ_CHECK(wd_spiffe_segment_ok(name->ns) && wd_spiffe_segment_ok(name->owner));
    FUZZ_CHECK(wd_spiffe_segment_ok(name->name));
}

static bool parse(wd_span in, wd_spiffe *ret_name)
{
    wd_error err = {.status = WD_OK};
    char *text = fuzz_text(in);
    wd_status status = wd_spiffe_parse(text, in.size, ret_name, &err);

    if (status == WD_OK) {
        FUZZ_CHECK(strlen(text) == in.size);
        check_composed(ret_name, text);
    } else {
        fuzz_check_error(status, &err);
    }
    free(text);
    return status == WD_OK;
}

/* Whoever a list denies by name, its own text denies by itself too. */
static void check_list(wd_span list_text, const char *uri)
{
    static wd_identity peer;
    WD_AUTO(wd_deny_list) *list = NULL;
    WD_AUTO(wd_deny_list) *only = NULL;
    wd_error err = {.status = WD_OK};
    char *text = fuzz_text(list_text);
    wd_status status = wd_deny_list_parse(text, &list, &err);

    (void)snprintf(peer.uri, sizeof(peer.uri), "%s", uri);
    (void)snprintf(peer.serial, sizeof(peer.serial), "0a1b");
    if (status != WD_OK) {
        fuzz_check_error(status, &err);
    } else {
        (void)wd_deny_list_has(list, &peer);
        FUZZ_CHECK(wd_deny_list_parse(uri, &only, NULL) == WD_OK);
        FUZZ_CHECK(wd_deny_list_has(only, &peer));
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wd_span in = {data, size};
    wd_span line = fuzz_line(&in);
    wd_spiffe name;

    if (!parse(line, &name))
        return 0;
    char *uri = fuzz_text(line);
    check_list(in, uri);
    free(uri);
    return 0;
}
