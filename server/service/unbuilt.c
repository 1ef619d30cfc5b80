#include "server/service/unbuilt.h"

wd_status wd_unbuilt_refuse(const wd_unbuilt *fields, size_t n, wd_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (fields[i].asked)
            return wd_refuse(
                err, WD_REASON_NOT_BUILT,
                "this gate (%s) does not have the field %s yet: nothing was "
                "done; leave it out",
                WD_VERSION, fields[i].field);
    }
    return WD_OK;
}
