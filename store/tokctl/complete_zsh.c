#include <stdio.h>

#include "store/tokctl/completion.h"

/* '*-o+[doc]:FORMAT:(...)': a letter's value may stand in the same word, or the next. */
static void put_spec(const char *dashes, const char *name, const char *join,
                     const struct argp_option *option)
{
    const char *words = wd_option_words(option);
    printf("        '*%s%s%s[", dashes, name, option->arg != NULL ? join : "");
    wd_complete_quoted(option->doc, ']');
    printf("]");
    if (option->arg != NULL) {
        printf(":");
        wd_complete_quoted(option->arg, ':');
        printf(":");
    }
    if (words != NULL)
        printf("(%s)", words);
    else if (option->arg != NULL)
        printf(wd_option_is_path(option) ? "_files" : " ");
    printf("' \\\n");
}

static void put_option(void *arg, wd_option_from from, const struct argp_option *option)
{
    const char letter[] = {(char)wd_option_letter(option), '\0'};
    (void)arg;
    (void)from;
    put_spec("--", option->name, "=", option);
    if (letter[0] != '\0')
        put_spec("-", letter, "+", option);
}

/* 'query:rows of the trail', ... */
static void put_verbs(const char *group)
{
    for (size_t i = 0; wd_verb_at(i) != NULL; i++) {
        if (wd_complete_word(i, group) == NULL)
            continue;
        printf(" '%s:", wd_complete_word(i, group));
        wd_complete_quoted(wd_complete_help(i, group), ':');
        printf("'");
    }
}

static void put_group(const char *group)
{
    printf("    %s)\n        if (( CURRENT == 2 )); then\n            verbs=(", group);
    put_verbs(group);
    printf(")\n            _describe -t commands command verbs; return\n        fi\n"
           "        verb+=\" $words[2]\"; shift words; (( CURRENT-- )) ;;\n");
}

static void put_arguments(const wd_verb *verb)
{
    const char *args = verb->args != NULL ? verb->args : "";
    if (verb->words != NULL)
        printf("        '1:%s:(%s)' ;;\n", args, verb->words);
    else if (wd_complete_takes_path(verb))
        printf("        '*:%s:_files' ;;\n", args);
    else
        printf("        '*:%s: ' ;;\n", args);
}

void wd_complete_zsh(void)
{
    printf("#compdef tokctl\n# zsh completion of tokctl, made by: tokctl completion "
           "zsh\n_tokctl() {\n    local curcontext=$curcontext state line verb\n"
           "    local -a verbs\n    local -A opt_args\n    _arguments -C \\\n");
    wd_complete_shared(NULL, put_option);
    printf("        '(-)1: :->verb' '(-)*:: :->rest' && return\n"
           "    if [[ $state == verb ]]; then\n        verbs=(");
    put_verbs(NULL);
    printf(")\n        _describe -t commands command verbs; return\n    fi\n"
           "    verb=$words[1]\n    case $verb in\n");
    wd_complete_each_group(put_group);
    printf("    esac\n    case $verb in\n");
    for (size_t i = 0; wd_verb_at(i) != NULL; i++) {
        printf("    ");
        wd_complete_name(wd_verb_at(i), "|");
        printf(") _arguments \\\n");
        wd_verb_options(wd_verb_at(i), NULL, put_option);
        put_arguments(wd_verb_at(i));
    }
    printf("    esac\n}\n_tokctl \"$@\"\n");
}
