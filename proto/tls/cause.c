#include "proto/tls/cause.h"

#include <stddef.h>

typedef struct cause_row {
    const char *name;
    uint8_t alert;
} cause_row;

static const cause_row causes[] = {
#define X(name, text, alert) {text, alert},
    WD_TLS_CAUSE_MAP(X)
#undef X
};

static const size_t n_causes = sizeof causes / sizeof causes[0];

const char *wd_tls_cause_name(wd_tls_cause cause)
{
    return (size_t)cause < n_causes ? causes[cause].name : "unknown";
}

uint8_t wd_tls_cause_alert(wd_tls_cause cause)
{
    return (size_t)cause < n_causes ? causes[cause].alert : 0;
}
