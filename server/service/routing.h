/* routing.h - which tool an action is for, and the code in it.
 *
 * A tool named in the item is taken, and the whole text is its code: no tag is looked for,
 * no byte is changed. Without a name the configured tools are asked in their order whether
 * the text holds one of their tags, as `<tag>...</tag>` or as a fence "```tag ... ```".
 * All blocks of the tool count, joined by newlines; tagged blocks come before fences: when
 * there is one of the former, the latter are prose.
 *
 * Threads: any; pure.  Source: verl-tool's python_code, for the tags. */
#ifndef WD_SERVER_SERVICE_ROUTING_H
#define WD_SERVER_SERVICE_ROUTING_H

#include "proto/c/alloc.h"
#include "proto/c/span.h"
#include "server/config.h"

typedef struct wd_routing_ask {
    const char *named;  /* the item's tool; "": it has none */
    const char *action; /* its text */
    wd_budget *budget;  /* where joined blocks go */
} wd_routing_ask;

typedef struct wd_routed {
    const wd_tool_config *tool;
    wd_span code; /* in the action, or in the budget */
} wd_routed;

/* Errors: NOT_FOUND           TOOL_UNKNOWN: no tool of that name, or none has a tag in the
 *                             text (the message lists the tags)
 *         RESOURCE_EXHAUSTED  CAPACITY: the budget is spent */
WD_MUST_USE wd_status wd_routing_find(const wd_config *config,
                                      const wd_routing_ask *ask, wd_routed *ret,
                                      wd_error *err);

#endif
