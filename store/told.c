#include "store/told.h"

#include <stddef.h>

static wd_reason reason_of(wd_status status)
{
    static const struct {
        wd_status status;
        wd_reason reason;
    } told[] = {
        {WD_NOT_FOUND, WD_REASON_NOT_ON_RECORD},
        {WD_RESOURCE_EXHAUSTED, WD_REASON_CAPACITY},
        {WD_DATA_LOSS, WD_REASON_CHAIN_BROKEN},
        {WD_UNAVAILABLE, WD_REASON_STORE_UNAVAILABLE},
        {WD_PERMISSION_DENIED, WD_REASON_STORE_UNAVAILABLE},
        {WD_FAILED_PRECONDITION, WD_REASON_STORE_UNAVAILABLE},
    };

    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
        if (told[i].status == status)
            return told[i].reason;
    }
    return WD_REASON_BUG;
}

void wd_store_tell(wd_error *err)
{
    if (err == NULL || err->status == WD_OK || err->reason != WD_REASON_NONE)
        return;
    err->reason = reason_of(err->status);
    err->status = wd_reason_status(err->reason);
}
