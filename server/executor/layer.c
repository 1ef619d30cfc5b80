#include "server/executor/layer.h"

#include <stdio.h>
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

/* The layer whose name `text` begins with, before a colon. */
static wd_layer_id layer_of(const char *text)
{
    size_t size = strcspn(text, ":");
    for (unsigned i = 0; text[size] == ':' && i < WD_LAYER_COUNT; i++)
        if (strlen(layers[i].name) == size && memcmp(layers[i].name, text, size) == 0)
            return (wd_layer_id)i;
    return WD_LAYER_COUNT;
}

bool wd_layer_blames_setting(const char *detail)
{
    return strncmp(detail, "sandbox.", sizeof("sandbox.") - 1) == 0;
}

void wd_layer_add_cure(char *text, size_t size)
{
    wd_layer_id id = layer_of(text);
    if (id == WD_LAYER_COUNT || strstr(text, layers[id].cure) != NULL)
        return;
    const char *detail = strchr(text, ':') + 1;
    if (wd_layer_blames_setting(detail + strspn(detail, " ")))
        return;
    size_t cure = strlen(layers[id].cure) + sizeof("; ");
    size_t length = strlen(text);
    if (length > size - cure)
        length = size - cure;
    while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80)
        length--; /* not in the middle of a character */
    (void)snprintf(text + length, size - length, "; %s", layers[id].cure);
}
