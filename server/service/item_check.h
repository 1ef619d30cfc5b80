/* item_check.h - the bounds of an item's fields, one line each.
 *
 * Threads: any; pure.  Source: proto/warded/v1/observation.proto, Item and Limits. */
#ifndef WD_SERVER_SERVICE_ITEM_CHECK_H
#define WD_SERVER_SERVICE_ITEM_CHECK_H

#include "server/config.h"
#include "warded/v1/observation.pb-c.h"

/* On failure *field is the item's field that is wrong ("action", "limits"), static; else
 * NULL.
 * Errors: INVALID_ARGUMENT FIELD_INVALID: names the field, the value's fault, the bound
 *         UNIMPLEMENTED    NOT_BUILT: files, fetch */
WD_MUST_USE wd_status wd_item_check(const Warded__V1__Item *item,
                                    const wd_action_limits *maxima, const char **field,
                                    wd_error *err);

#endif
