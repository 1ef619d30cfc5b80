#include "store/tokctl/completion.h"

#include <stdio.h>
#include <string.h>

#include "store/tokctl/verbs.h"

void wd_complete_quoted(const char *text, char also)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            (void)fputs("'\\''", stdout);
        else if (also != '\0' && (*text == also || *text == '\\'))
            printf("\\%c", *text);
        else
            (void)fputc(*text, stdout);
    }
}

void wd_complete_name(const wd_verb *verb, const char *between)
{
    const char *group = verb->group != NULL ? verb->group : "";
    const char *gap = verb->group != NULL ? " " : "";
    printf("'%s%s%s'", group, gap, verb->name);
    if (between != NULL && verb->alias != NULL)
        printf("%s'%s%s%s'", between, group, gap, verb->alias);
}

static bool is_of(const wd_verb *verb, const char *group)
{
    return verb->group != NULL && strcmp(group, verb->group) == 0;
}

const char *wd_complete_word(size_t i, const char *group)
{
    const wd_verb *verb = wd_verb_at(i);
    if (group != NULL)
        return is_of(verb, group) ? verb->name : NULL;
    if (verb->group == NULL)
        return verb->name;
    for (size_t k = 0; k < i; k++)
        if (is_of(wd_verb_at(k), verb->group))
            return NULL;
    return verb->group;
}

const char *wd_complete_help(size_t i, const char *group)
{
    const wd_verb *verb = wd_verb_at(i);
    return verb->group != NULL && group == NULL ? "a group of commands" : verb->help;
}

void wd_complete_words(const char *group)
{
    for (size_t i = 0; i < wd_verb_count(); i++)
        if (wd_complete_word(i, group) != NULL)
            printf(" %s", wd_complete_word(i, group));
}

void wd_complete_each_group(void (*each)(const char *group))
{
    for (size_t i = 0; i < wd_verb_count(); i++)
        if (wd_verb_at(i)->group != NULL && wd_complete_word(i, NULL) != NULL)
            each(wd_verb_at(i)->group);
}

typedef struct sharing {
    void *arg;
    void (*each)(void *arg, wd_option_from from, const struct argp_option *option);
} sharing;

static void if_shared(void *arg, wd_option_from from, const struct argp_option *option)
{
    const sharing *s = arg;
    if (from >= WD_OPTION_OUTPUT)
        s->each(s->arg, from, option);
}

void wd_complete_shared(void *arg, void (*each)(void *arg, wd_option_from from,
                                                const struct argp_option *option))
{
    sharing s = {arg, each};
    wd_verb_options(&wd_verb_revoke, &s, if_shared); /* it knows all of them */
}

bool wd_complete_takes_path(const wd_verb *verb)
{
    return verb->args != NULL &&
           (strstr(verb->args, "FILE") != NULL || strstr(verb->args, "DIR") != NULL ||
            strstr(verb->args, "PATH") != NULL);
}
