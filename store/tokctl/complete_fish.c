#include <stdio.h>

#include "store/tokctl/completion.h"

static void put_if_valued(void *arg, wd_option_from from,
                          const struct argp_option *option)
{
    (void)arg;
    (void)from;
    if (option->arg == NULL)
        return;
    printf(" --%s", option->name);
    if (wd_option_letter(option) != 0)
        printf(" -%c", wd_option_letter(option));
}

static void put_group(const char *group)
{
    printf(" %s", group);
}

/* The verb that stands before the cursor, "audit query"; nothing: none does. */
static void put_search(void)
{
    printf("# fish completion of tokctl, made by: tokctl completion fish\n"
           "function __tokctl_verb\n"
           "    set -l verb\n    set -l skip no\n"
           "    set -l words (commandline -opc)\n    set -e words[1]\n"
           "    for word in $words\n"
           "        if test $skip = yes\n            set skip no\n"
           "            continue\n        end\n"
           "        switch $word\n            case");
    wd_complete_shared(NULL, put_if_valued);
    printf(
        "\n                set skip yes\n            case '-*'\n            case '*'\n"
        "                set -a verb $word\n"
        "                contains -- \"$verb\"");
    wd_complete_each_group(put_group);
    printf("; or break\n        end\n    end\n    echo \"$verb\"\nend\n"
           "complete -c tokctl -f\n");
}

static void put_condition(const wd_verb *verb)
{
    printf("complete -c tokctl -n 'contains -- (__tokctl_verb) \"%s%s%s\"",
           verb->group != NULL ? verb->group : "", verb->group != NULL ? " " : "",
           verb->name);
    if (verb->alias != NULL)
        printf(" %s", verb->alias);
    printf("'");
}

static void put_option(void *arg, wd_option_from from, const struct argp_option *option)
{
    const char *words = wd_option_words(option);
    (void)from;
    if (arg != NULL)
        put_condition(arg);
    else
        printf("complete -c tokctl -n 'test -z (__tokctl_verb)'");
    printf(" -l %s", option->name);
    if (wd_option_letter(option) != 0)
        printf(" -s %c", wd_option_letter(option));
    if (words != NULL)
        printf(" -x -a '%s'", words);
    else if (option->arg != NULL)
        printf(wd_option_is_path(option) ? " -r -F" : " -x");
    printf(" -d '");
    wd_complete_quoted(option->doc, '\0');
    printf("'\n");
}

static void put_word(size_t i, const char *group)
{
    if (wd_complete_word(i, group) == NULL)
        return;
    printf("complete -c tokctl -n 'test (__tokctl_verb) = \"%s\"' -a %s -d '",
           group != NULL ? group : "", wd_complete_word(i, group));
    wd_complete_quoted(wd_complete_help(i, group), '\0');
    printf("'\n");
}

static void put_arguments(const wd_verb *verb)
{
    if (verb->words == NULL && !wd_complete_takes_path(verb))
        return;
    put_condition(verb);
    if (verb->words != NULL)
        printf(" -a '%s'\n", verb->words);
    else
        printf(" -F\n");
}

void wd_complete_fish(void)
{
    union { /* the table is const, the walk's argument is not */
        const wd_verb *in;
        void *out;
    } verb;
    put_search();
    wd_complete_shared(NULL, put_option);
    for (size_t i = 0; wd_verb_at(i) != NULL; i++) {
        verb.in = wd_verb_at(i);
        put_word(i, NULL);
        if (verb.in->group != NULL)
            put_word(i, verb.in->group);
        put_arguments(verb.in);
        wd_verb_options(verb.in, verb.out, put_option);
    }
}
