#include "proto/c/rule.h"

wd_step wd_method_unserved(const char *path, wd_error *err)
{
    (void)wd_refuse(err, WD_REASON_NOT_BUILT, "%s has no handler in this server", path);
    return WD_FAILED;
}
