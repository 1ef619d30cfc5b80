#include "server/executor/layer.h"

#include <string.h>

static const struct {
    const char *name;
    bool mandatory;
    const char *cure;
} layers[] = {
#define X(id, name, mandatory, cure) {name, mandatory, cure},
    WD_LAYER_MAP(X)
#undef X
};

const char *wd_layer_name(wd_layer_id id)
{
    return (unsigned)id < WD_LAYER_COUNT ? layers[id].name : "unknown";
}

bool wd_layer_mandatory(wd_layer_id id)
{
    return (unsigned)id >= WD_LAYER_COUNT || layers[id].mandatory;
}

const char *wd_layer_cure(wd_layer_id id)
{
    return (unsigned)id < WD_LAYER_COUNT ? layers[id].cure : "unknown";
}

wd_layer_id wd_layer_find(const char *name)
{
    for (unsigned i = 0; i < WD_LAYER_COUNT; i++)
        if (strcmp(layers[i].name, name) == 0)
            return (wd_layer_id)i;
    return WD_LAYER_COUNT;
}
