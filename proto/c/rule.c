#include "proto/c/rule.h"

#include <string.h>

const wd_method *wd_service_find(const wd_service_info *service, const char *path)
{
    for (size_t i = 0; i < service->n_methods; i++)
        if (strcmp(service->methods[i].path, path) == 0)
            return &service->methods[i];
    return NULL;
}

wd_step wd_method_unserved(const char *path, wd_error *err)
{
    (void)wd_refuse(err, WD_REASON_NOT_BUILT, "%s has no handler in this server", path);
    return WD_FAILED;
}
