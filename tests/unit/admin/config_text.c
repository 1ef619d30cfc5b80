#include "tests/unit/admin/config_text.h"

#include <string.h>

wd_status config_of(const char *text, wd_config **ret_config, wd_error *err)
{
    wd_places places;
    wd_status status = wd_places_init(&places, "/srv/warded", err);
    if (status == WD_OK)
        status = wd_config_parse(&places, text, strlen(text), ret_config, err);
    wd_places_done(&places);
    return status;
}
