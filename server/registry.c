#include "server/registry.h"

#include <stdlib.h>
#include <string.h>

#include "store/scope.h"

struct wd_registry {
    wd_route *routes; /* sorted by path */
    size_t n_routes;
};

wd_registry *wd_registry_new(void)
{
    return calloc(1, sizeof(wd_registry));
}

void wd_registry_free(wd_registry *registry)
{
    if (registry == NULL)
        return;
    free(registry->routes);
    free(registry);
}

static int by_path(const void *a, const void *b)
{
    const wd_route *left = a;
    const wd_route *right = b;
    return strcmp(left->method->path, right->method->path);
}

static wd_route *find(const wd_registry *registry, const char *path)
{
    const wd_method method = {.path = path};
    const wd_route key = {.method = &method};

    if (registry->n_routes == 0)
        return NULL;
    return bsearch(&key, registry->routes, registry->n_routes, sizeof(key), by_path);
}

wd_status wd_registry_add(wd_registry *registry, const wd_service_info *info,
                          const void *service, wd_error *err)
{
    for (size_t i = 0; i < info->n_methods; i++) {
        if (find(registry, info->methods[i].path) != NULL)
            return wd_fail(err, WD_FAILED_PRECONDITION, "method %s is served already",
                           info->methods[i].path);
    }

    size_t total = registry->n_routes + info->n_methods;
    wd_route *routes = reallocarray(registry->routes, total, sizeof(*routes));
    if (routes == NULL)
        return wd_fail(err, WD_INTERNAL, "no memory for the methods of %s", info->name);
    for (size_t i = 0; i < info->n_methods; i++) {
        const wd_method *method = &info->methods[i];
        routes[registry->n_routes + i] = (wd_route){
            .method = method,
            .service = service,
            .where = method->audited ? WD_RUN_POOL : WD_RUN_INLINE,
        };
    }
    qsort(routes, total, sizeof(*routes), by_path);
    registry->routes = routes;
    registry->n_routes = total;
    return WD_OK;
}

void wd_registry_place(wd_registry *registry, const char *path, wd_where where,
                       wd_planner *plan)
{
    wd_route *route = find(registry, path);

    WD_ASSERT(route != NULL);
    route->where = where;
    route->plan = plan;
}

static const char *record_name(wd_record record)
{
    switch (record) {
    case WD_RECORD_CALL:
        return "CALL";
    case WD_RECORD_ITEM:
        return "ITEM";
    case WD_RECORD_BATCH:
        return "BATCH";
    }
    return "?";
}

wd_status wd_registry_check(const wd_registry *registry, wd_error *err)
{
    for (size_t i = 0; i < registry->n_routes; i++) {
        const wd_route *route = &registry->routes[i];
        const wd_method *method = route->method;
        if (method->built && method->record != WD_RECORD_CALL && route->plan == NULL)
            return wd_fail(err, WD_FAILED_PRECONDITION,
                           "method %s has record: %s and no planner: give it one with "
                           "wd_registry_place(), or say record: CALL in its rule",
                           method->path, record_name(method->record));
    }
    return WD_OK;
}

void wd_registry_go_on(wd_registry *registry, const char *path)
{
    wd_route *route = find(registry, path);

    WD_ASSERT(route != NULL);
    route->goes_on = true;
}

const wd_route *wd_registry_at(const wd_registry *registry, size_t n)
{
    return n < registry->n_routes ? &registry->routes[n] : NULL;
}

const wd_route *wd_registry_find(const wd_registry *registry, const char *path)
{
    return find(registry, path);
}

/* "/warded.v1.Token/Issue": the length of "/warded.v1.Token/". */
static size_t service_length(const char *path)
{
    const char *slash = path[0] == '/' ? strchr(path + 1, '/') : NULL;
    return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

static bool of_area(const char *scope, const char *const *held, size_t n_held)
{
    char area[WD_SCOPE_BYTES + 1];
    size_t length = scope != NULL ? strcspn(scope, ":") : 0;

    if (length == 0 || length >= sizeof(area))
        return false;
    memcpy(area, scope, length);
    area[length] = '\0';
    return wd_scopes_of_area(held, n_held, area);
}

static bool opened_by(const char *scope, const char *const *held, size_t n_held)
{
    if (scope == NULL || scope[0] == '\0')
        return false;
    if (strchr(scope, '{') == NULL)
        return wd_scopes_cover(held, n_held, scope);
    return of_area(scope, held, n_held);
}

bool wd_method_held(const wd_method *method, const char *const *held, size_t n_held)
{
    return opened_by(method->scope, held, n_held) ||
           opened_by(method->grant, held, n_held);
}

bool wd_registry_opens(const wd_registry *registry, const char *scope)
{
    for (size_t i = 0; i < registry->n_routes; i++) {
        const wd_method *method = registry->routes[i].method;
        if (method->built && wd_method_held(method, &scope, 1))
            return true;
    }
    return false;
}

static bool near(const wd_method *method, const char *const *held, size_t n_held)
{
    return of_area(method->scope, held, n_held) || of_area(method->grant, held, n_held);
}

bool wd_registry_area_held(const wd_registry *registry, const char *path,
                           const char *const *held, size_t n_held)
{
    size_t length = service_length(path);

    if (length == 0)
        return false;
    for (size_t i = 0; i < registry->n_routes; i++) {
        const wd_method *method = registry->routes[i].method;
        if (strncmp(method->path, path, length) == 0 && near(method, held, n_held))
            return true;
    }
    return false;
}
