/* Settings of retention: what is taken, what is refused, and what is said of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "server/config.h"

static const struct {
    const char *text;
    const char *says; /* NULL: it is taken */
} cases[] = {
    {"audit: {retention: {age_ms: 0, bytes: 0}}\n", NULL},
    {"audit: {retention: {age_ms: 1}}\n", ":1: audit.retention.age_ms"},
    {"audit:\n  retention: {age_ms: 3599999}\n",
     ":2: audit.retention.age_ms: 3599999: allowed: 0 (never), or 3600000"},
    {"audit: {retention: {age_ms: 3600000}}\n", NULL},
    {"audit: {retention: {age_ms: 3600001}}\n", NULL},
    {"audit: {retention: {age_ms: 90d}}\n", "(ms), in digits"},
    {"audit: {retention: {age_ms: -1}}\n", "(ms), in digits"},
    {"audit: {segment_bytes: 65536, retention: {bytes: 1}}\n", "audit.retention.bytes"},
    {"audit:\n  segment_bytes: 65536\n  retention: {bytes: 65535}\n",
     ":3: audit.retention.bytes: 65535: allowed: 0 (no limit), or "
     "audit.segment_bytes, 65536"},
    {"audit: {segment_bytes: 65536, retention: {bytes: 65536}}\n", NULL},
    {"audit: {segment_bytes: 65536, retention: {bytes: 65537}}\n", NULL},
    {"audit: {retention: {bytes: 536870911}}\n", "audit.segment_bytes, 536870912"},
    {"audit: {retention: {bytes: 536870912}}\n", NULL},
    {"audit: {retention: 90}\n", "a mapping"},
    {"audit: {retention: {days: 90}}\n", "allowed: age_ms, bytes"},
    {"audit: {export_dir: /data/audits}\n", NULL},
    {"audit: {export_dir: state/store/audits}\n", NULL},
    {"audit: {export_dir: state/store/audit}\n", "a folder of its own"},
    {"audit: {export_dir: state/store/audit/x}\n", ":1: audit.export_dir"},
    {"audit: {export_dir: /}\n", "a folder of its own"},
    {"audit: {export_dir: /data/x}\nsandbox: {roots: [/data]}\n",
     ":2: sandbox.roots: \"/data\" would show /data/x"},
};

static void claim_07_retention_has_its_least_values(void **state)
{
    wd_places places = {0};
    (void)state;
    assert_int_equal(wd_places_init(&places, "/srv/warded", NULL), WD_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        WD_AUTO(wd_config) *c = NULL;
        wd_error err = {0};
        wd_status status =
            wd_config_parse(&places, cases[i].text, strlen(cases[i].text), &c, &err);
        if (cases[i].says == NULL ? status != WD_OK
                                  : status != WD_INVALID_ARGUMENT ||
                                        strstr(err.msg, cases[i].says) == NULL)
            fail_msg("%s: %s", cases[i].text, err.msg);
    }
    wd_places_done(&places);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_07_retention_has_its_least_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
