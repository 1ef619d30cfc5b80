#include "server/service/token_scopes.h"

#include "server/parts.h"
#include "store/scope.h"

#include <stdio.h>

/* Its area has methods, but their objects are tools. */
static bool opens_tool(const wd_gate *gate, const char *scope)
{
    char tool[WD_SCOPE_BYTES + 1];

    for (size_t i = 0; i < gate->config->n_tools; i++) {
        (void)snprintf(tool, sizeof(tool), "observe:%.100s",
                       gate->config->tools[i].name);
        if (wd_scope_covers(scope, tool))
            return true;
    }
    return false;
}

static bool opens(const wd_gate *gate, const char *scope)
{
    if (wd_scope_of_area(scope, "observe"))
        return opens_tool(gate, scope);
    return wd_registry_opens(gate->registry, scope);
}

size_t wd_token_idle_scopes(const wd_gate *gate, const wd_token *token,
                            const char **ret_idle)
{
    size_t n = 0;

    if (!wd_audience_covers(token->audience, gate->uri))
        return 0;
    for (size_t i = 0; i < token->n_scopes; i++) {
        if (!opens(gate, token->scopes[i]))
            ret_idle[n++] = token->scopes[i];
    }
    return n;
}
