#include <stdio.h>

#include "store/tokctl/completion.h"

static void put_option(void *arg, wd_option_from from, const struct argp_option *option)
{
    (void)arg;
    (void)from;
    printf(" --%s", option->name);
}

/* --output | -o */
static void put_pattern(const struct argp_option *option)
{
    printf("--%s", option->name);
    if (wd_option_letter(option) != 0)
        printf(" | -%c", wd_option_letter(option));
}

/* `arg`: what stands between it and the one before. */
static void put_if_valued(void *arg, wd_option_from from,
                          const struct argp_option *option)
{
    const char **between = arg;
    (void)from;
    if (option->arg == NULL)
        return;
    printf("%s", *between);
    put_pattern(option);
    *between = " | ";
}

/* What follows an option. */
static void put_value(void *arg, wd_option_from from, const struct argp_option *option)
{
    const char *words = wd_option_words(option);
    (void)arg;
    (void)from;
    if (option->arg == NULL)
        return;
    printf("        ");
    put_pattern(option);
    if (words != NULL)
        printf(") options='%s' words=$options ;;\n", words);
    else
        printf(") files=%s ;;\n", wd_option_is_path(option) ? "yes" : "no");
}

static void put_group(const char *group)
{
    printf("    %s) words='", group);
    wd_complete_words(group);
    printf("' ;;\n");
}

static void put_verb(const wd_verb *verb)
{
    printf("    ");
    wd_complete_name(verb, " | ");
    printf(") case $prev in\n");
    wd_verb_options(verb, NULL, put_value);
    printf("        *) words='%s' files=%s options='",
           verb->words != NULL ? verb->words : "",
           wd_complete_takes_path(verb) ? "yes" : "");
    wd_verb_options(verb, NULL, put_option);
    printf("' ;;\n        esac ;;\n");
}

/* Which words are the verb; readline makes a word of each '='. */
static void put_search(void)
{
    const char *between = "";
    printf("# bash completion of tokctl, made by: tokctl completion bash\n"
           "_tokctl() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
           "    local verb='' words='' files='' options='' i\n"
           "    [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD-2]}\n"
           "    [[ $cur == = ]] && cur=''\n"
           "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
           "        case ${COMP_WORDS[i]} in\n        ");
    wd_complete_shared(&between, put_if_valued);
    printf(")\n"
           "            [[ ${COMP_WORDS[i+1]-} == = ]] && i=$((i + 1))\n"
           "            i=$((i + 1)) ;;\n"
           "        -* | =) ;;\n"
           "        *) verb+=${verb:+ }${COMP_WORDS[i]} ;;\n"
           "        esac\n"
           "        case $verb in\n");
    for (size_t i = 0; wd_verb_at(i) != NULL; i++) {
        printf("        ");
        wd_complete_name(wd_verb_at(i), " | ");
        printf(") break ;;\n");
    }
    printf("        esac\n    done\n");
}

void wd_complete_bash(void)
{
    put_search();
    printf("    case $verb in\n    '') case $prev in\n");
    wd_complete_shared(NULL, put_value);
    printf("        *) words='");
    wd_complete_words(NULL);
    printf("' options='");
    wd_complete_shared(NULL, put_option);
    printf("' ;;\n        esac ;;\n");
    wd_complete_each_group(put_group);
    for (size_t i = 0; wd_verb_at(i) != NULL; i++)
        put_verb(wd_verb_at(i));
    printf("    esac\n"
           "    if [[ $cur == -* ]]; then\n"
           "        words=$options files=''\n"
           "    fi\n"
           "    if [[ $files == yes ]]; then\n"
           "        compopt -o filenames\n"
           "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
           "    else\n"
           "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
           "    fi\n"
           "}\ncomplete -F _tokctl tokctl\n");
}
