#include "store/tokctl/walk.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

typedef struct walk {
    const wd_verb *verb;
    void *arg;
    void (*each)(void *arg, wd_option_from from, const struct argp_option *option);
} walk;

static bool is_end(const struct argp_option *option)
{
    return option->name == NULL && option->key == 0 && option->doc == NULL;
}

bool wd_verb_knows(const wd_verb *verb, const struct argp_option *option)
{
    if (option->name == NULL)
        return true;
    if (strcmp(option->name, "dry-run") == 0)
        return (verb->flags & WD_VERB_DRY_RUN) != 0;
    if (strcmp(option->name, "yes") == 0)
        return (verb->flags & WD_VERB_ASKS) != 0;
    if (strcmp(option->name, "db") == 0 || strcmp(option->name, "home") == 0)
        return (verb->flags & WD_VERB_OFFLINE) != 0;
    return true;
}

static void visit(const walk *w, wd_option_from from, const struct argp_option *options)
{
    for (; options != NULL && !is_end(options); options++)
        if (options->name != NULL &&
            (options->flags & (OPTION_HIDDEN | OPTION_ALIAS)) == 0 &&
            wd_verb_knows(w->verb, options))
            w->each(w->arg, from, options);
}

void wd_verb_options(const wd_verb *verb, void *arg,
                     void (*each)(void *arg, wd_option_from from,
                                  const struct argp_option *option))
{
    const walk w = {verb, arg, each};
    visit(&w, WD_OPTION_OWN, verb->options);
    visit(&w, WD_OPTION_MORE, verb->more != NULL ? verb->more->options : NULL);
    visit(&w, WD_OPTION_OUTPUT, wd_tokctl_output_argp.options);
    if ((verb->flags & WD_VERB_ALONE) == 0)
        visit(&w, WD_OPTION_WHERE, wd_tokctl_where_argp.options);
}

int wd_option_letter(const struct argp_option *option)
{
    return option->key < CHAR_MAX && isalnum(option->key) != 0 ? (char)option->key
                                                               : '\0';
}

const char *wd_option_words(const struct argp_option *option)
{
    static const struct {
        const char *name, *words;
    } known[] = {
        {"output", "table wide json jsonl csv name"},
        {"format", "jsonl csv ocsf ecs cef"},
        {"state", "active retiring not_yet expired revoked retired orphaned spent"},
        {"kind", "data admin wrap"},
        {"outcome", "ok refused failed"},
        {"sort", "created expires used name owner id -created -expires -used -name "
                 "-owner -id"},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i].name, option->name) == 0)
            return known[i].words;
    return NULL;
}

bool wd_option_is_path(const struct argp_option *option)
{
    return option->arg != NULL &&
           (strstr(option->arg, "FILE") != NULL || strstr(option->arg, "DIR") != NULL);
}
