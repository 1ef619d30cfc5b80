/* The configuration: refused with its file named, or inside the bounds of its table. */
#include "server/config.h"

#include <string.h>

#include "server/config_keys.h"
#include "tests/fuzz/fuzz.h"

#define HOME "/home-of-the-fuzz-test"

static bool is_tool_key(const wd_key *key)
{
    return strncmp(key->name, "tools", 5) == 0;
}

static void check_list(const wd_key *key, const wd_text_list *list)
{
    FUZZ_CHECK(list->n_items >= key->min && list->n_items <= key->max);
    for (size_t i = 0; i < list->n_items; i++)
        FUZZ_CHECK(list->items[i] != NULL && list->items[i][0] != '\0');
}

static void check_text(const wd_key *key, const char *text)
{
    FUZZ_CHECK(text != NULL && strlen(text) >= key->min);
    for (; *text != '\0'; text++)
        FUZZ_CHECK((unsigned char)*text >= 0x20 && *text != 0x7f);
}

static void check_value(const wd_key *key, const void *object)
{
    const char *at = (const char *)object + key->offset;

    if (key->type == WD_KEY_UINT) {
        uint64_t value = 0;
        memcpy(&value, at, sizeof(value));
        FUZZ_CHECK(value >= key->min && value <= key->max);
    } else if (key->type == WD_KEY_TEXTS) {
        check_list(key, (const wd_text_list *)(const void *)at);
    } else if (key->type == WD_KEY_TEXT || key->type == WD_KEY_PATH) {
        check_text(key, *(char *const *)(const void *)at);
    }
}

static void check_limits(const wd_action_limits *limits, const wd_action_limits *most)
{
    FUZZ_CHECK(limits->wall_ms <= most->wall_ms && limits->cpu_ms <= most->cpu_ms);
    FUZZ_CHECK(limits->memory_bytes <= most->memory_bytes);
    FUZZ_CHECK(limits->pids <= most->pids);
    FUZZ_CHECK(limits->files_bytes <= most->files_bytes);
    FUZZ_CHECK(limits->output_bytes <= most->output_bytes);
}

static void check_tool(const wd_config *config, const wd_tool_config *tool)
{
    FUZZ_CHECK(wd_config_find_tool(config, tool->name) == tool); /* names are unique */
    FUZZ_CHECK(tool->interpreter[0] == '/');
    check_limits(&tool->limits, &config->sandbox.maxima);
}

static void check_config(const wd_config *config)
{
    size_t n_keys = 0;
    const wd_key *keys = wd_config_keys(&n_keys);

    for (size_t i = 0; i < n_keys; i++) {
        if (!is_tool_key(&keys[i]))
            check_value(&keys[i], config);
        for (size_t t = 0; is_tool_key(&keys[i]) && t < config->n_tools; t++)
            check_value(&keys[i], &config->tools[t]);
    }
    for (size_t t = 0; t < config->n_tools; t++)
        check_tool(config, &config->tools[t]);
    check_limits(&config->sandbox.defaults, &config->sandbox.maxima);
    FUZZ_CHECK(config->sandbox.slots > 0 && config->listen.host[0] != '\0');
    FUZZ_CHECK(config->sandbox.mode != WD_SANDBOX_EXTERNAL ||
               config->sandbox.reason[0] != '\0');
    FUZZ_CHECK(config->identity.key[0] == '/' && config->store.path[0] == '/');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wd_places places;
    WD_AUTO(wd_config) *config = NULL;
    wd_error err = {.status = WD_OK};

    FUZZ_CHECK(wd_places_init(&places, HOME, NULL) == WD_OK);
    wd_status status =
        wd_config_parse(&places, (const char *)data, size, &config, &err);
    if (status == WD_OK) {
        check_config(config);
    } else {
        FUZZ_CHECK(config == NULL && status == WD_INVALID_ARGUMENT);
        fuzz_check_error(status, &err);
        FUZZ_CHECK(
            strncmp(err.msg, HOME "/warded.yaml:", sizeof(HOME "/warded.yaml")) == 0);
    }
    wd_places_done(&places);
    return 0;
}
