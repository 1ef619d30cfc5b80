/* tokctl completion - for bash, zsh and fish, from the table of verbs. */
#include <stdio.h>
#include <string.h>

#include "store/tokctl/verbs.h"
#include "store/tokctl/walk.h"

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    const char *shell;
} arguments;

static const char doc[] =
    "Print what lets a shell complete tokctl's verbs and options.\v"
    "  tokctl completion bash >/etc/bash_completion.d/tokctl\n"
    "  tokctl completion zsh >\"${fpath[1]}/_tokctl\"\n"
    "  tokctl completion fish >~/.config/fish/completions/tokctl.fish";

/* NOLINTNEXTLINE(readability-non-const-parameter): argp's signature */
static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (args->shell != NULL)
            wd_tokctl_misuse(state, "one SHELL");
        args->shell = value;
        return 0;
    case ARGP_KEY_NO_ARGS:
        wd_tokctl_misuse(state, "bash, zsh or fish?");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Words of people in a shell's single quotes. */
static void put_quoted(const char *text, char also)
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

/* "audit query", or "list". */
static void put_name(const wd_verb *verb)
{
    printf("%s%s%s", verb->group != NULL ? verb->group : "",
           verb->group != NULL ? " " : "", verb->name);
}

static bool first_of_group(size_t i)
{
    const wd_verb *verb = wd_verb_at(i);
    for (size_t k = 0; k < i && verb->group != NULL; k++)
        if (wd_verb_at(k)->group != NULL &&
            strcmp(wd_verb_at(k)->group, verb->group) == 0)
            return false;
    return true;
}

/* The verb's word in the first place; NULL: one before it says it. */
static const char *first_word(size_t i)
{
    const wd_verb *verb = wd_verb_at(i);
    if (verb->group == NULL)
        return verb->name;
    return first_of_group(i) ? verb->group : NULL;
}

/* Its word behind that of a group; NULL: it is none of the group's. */
static const char *second_word(size_t i, const char *group)
{
    const wd_verb *verb = wd_verb_at(i);
    return verb->group != NULL && strcmp(group, verb->group) == 0 ? verb->name : NULL;
}

/* The words of the first place, or of a group. */
static void put_words(const char *group)
{
    for (size_t i = 0; i < wd_verb_count(); i++) {
        const char *word = group == NULL ? first_word(i) : second_word(i, group);
        if (word != NULL)
            printf(" %s", word);
    }
}

static void each_group(void (*each)(const char *group))
{
    for (size_t i = 0; i < wd_verb_count(); i++)
        if (wd_verb_at(i)->group != NULL && first_of_group(i))
            each(wd_verb_at(i)->group);
}

/* --- bash ------------------------------------------------------------------------------------ */

static void bash_option(void *arg, wd_option_from from,
                        const struct argp_option *option)
{
    (void)arg;
    (void)from;
    printf(" --%s", option->name);
}

static void bash_value(void *arg, wd_option_from from, const struct argp_option *option)
{
    const char *words = wd_option_words(option);
    (void)arg;
    (void)from;
    if (words != NULL)
        printf("        --%s) COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n",
               option->name, words);
    else if (wd_option_is_path(option))
        printf("        --%s) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n",
               option->name);
    else if (option->arg != NULL)
        printf("        --%s) return ;;\n", option->name);
}

static void bash_group(const char *group)
{
    printf("    %s) words='", group);
    put_words(group);
    printf("' ;;\n");
}

static void print_bash(void)
{
    printf(
        "# bash completion of tokctl, made by: tokctl completion bash\n"
        "_tokctl() {\n"
        "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
        "    local verb='' words='' i word\n"
        "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
        "        word=${COMP_WORDS[i]}\n"
        "        [[ $word == -* ]] && continue\n"
        "        [[ ${COMP_WORDS[i-1]} == -* && ${COMP_WORDS[i-1]} != *=* && -z $verb "
        "]] && continue\n"
        "        verb+=${verb:+ }$word\n"
        "        case $verb in\n");
    for (size_t i = 0; i < wd_verb_count(); i++) {
        printf("        '");
        put_name(wd_verb_at(i));
        printf("') break ;;\n");
    }
    printf("        esac\n    done\n    case $verb in\n");
    for (size_t i = 0; i < wd_verb_count(); i++) {
        printf("    '");
        put_name(wd_verb_at(i));
        printf("') case $prev in\n");
        wd_verb_options(wd_verb_at(i), NULL, bash_value);
        printf("        esac\n        words='");
        wd_verb_options(wd_verb_at(i), NULL, bash_option);
        printf("' ;;\n");
    }
    each_group(bash_group);
    printf("    '') words='");
    put_words(NULL);
    printf("' ;;\n    esac\n"
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
           "    [[ $cur == -* || ${#COMPREPLY[@]} -gt 0 ]] || "
           "COMPREPLY=($(compgen -f -- \"$cur\"))\n"
           "}\ncomplete -F _tokctl tokctl\n");
}

/* --- zsh ---------------------------------------------------------------------------------------- */

static void zsh_option(void *arg, wd_option_from from, const struct argp_option *option)
{
    const char *words = wd_option_words(option);
    (void)arg;
    (void)from;
    printf("            '--%s%s[", option->name, option->arg != NULL ? "=" : "");
    put_quoted(option->doc, ']');
    printf("]");
    if (words != NULL)
        printf(":%s:(%s)", option->arg, words);
    else if (option->arg != NULL)
        printf(":%s:%s", option->arg, wd_option_is_path(option) ? "_files" : "");
    printf("' \\\n");
}

static void zsh_describe(const char *group)
{
    for (size_t i = 0; i < wd_verb_count(); i++) {
        const wd_verb *verb = wd_verb_at(i);
        bool here = group == NULL
                        ? verb->group == NULL
                        : verb->group != NULL && strcmp(verb->group, group) == 0;
        if (!here && (group != NULL || !first_of_group(i)))
            continue;
        printf(" '%s:", here ? verb->name : verb->group);
        put_quoted(here ? verb->help : "a group of verbs", ':');
        printf("'");
    }
}

static void zsh_group(const char *group)
{
    printf("    %s)\n        if (( CURRENT == 3 )); then\n            verbs=(", group);
    zsh_describe(group);
    printf(")\n            _describe verb verbs; return\n        fi\n"
           "        verb=\"$words[2] $words[3]\" ;;\n");
}

static void print_zsh(void)
{
    printf("#compdef tokctl\n# zsh completion of tokctl, made by: tokctl completion "
           "zsh\n_tokctl() {\n    local -a verbs\n    local verb=$words[2]\n"
           "    if (( CURRENT == 2 )); then\n        verbs=(");
    zsh_describe(NULL);
    printf(")\n        _describe verb verbs; return\n    fi\n    case $words[2] in\n");
    each_group(zsh_group);
    printf("    esac\n    case $verb in\n");
    for (size_t i = 0; i < wd_verb_count(); i++) {
        printf("    '");
        put_name(wd_verb_at(i));
        printf("') _arguments \\\n");
        wd_verb_options(wd_verb_at(i), NULL, zsh_option);
        printf("            '*:argument:_files' ;;\n");
    }
    printf("    esac\n}\n_tokctl \"$@\"\n");
}

/* --- fish ----------------------------------------------------------------------------------------- */

static void fish_condition(const wd_verb *verb)
{
    printf("complete -c tokctl -n '__fish_seen_subcommand_from %s",
           verb->group != NULL ? verb->group : verb->name);
    if (verb->group != NULL)
        printf("; and __fish_seen_subcommand_from %s", verb->name);
    printf("'");
}

static void fish_option(void *arg, wd_option_from from,
                        const struct argp_option *option)
{
    const char *words = wd_option_words(option);
    (void)from;
    fish_condition(arg);
    printf(" -l %s", option->name);
    if (wd_option_letter(option) != 0)
        printf(" -s %c", wd_option_letter(option));
    if (words != NULL)
        printf(" -x -a '%s'", words);
    else if (option->arg != NULL)
        printf(wd_option_is_path(option) ? " -r" : " -x");
    printf(" -d '");
    put_quoted(option->doc, '\0');
    printf("'\n");
}

static void fish_words(const wd_verb *verb, size_t i)
{
    if (verb->group == NULL || first_of_group(i)) {
        printf("complete -c tokctl -n __fish_use_subcommand -f -a %s -d '",
               verb->group != NULL ? verb->group : verb->name);
        put_quoted(verb->group != NULL ? "a group of verbs" : verb->help, '\0');
        printf("'\n");
    }
    if (verb->group == NULL)
        return;
    printf("complete -c tokctl -n '__fish_seen_subcommand_from %s' -f -a %s -d '",
           verb->group, verb->name);
    put_quoted(verb->help, '\0');
    printf("'\n");
}

static void print_fish(void)
{
    union { /* the table is const, the walk's argument is not */
        const wd_verb *in;
        void *out;
    } verb;
    printf("# fish completion of tokctl, made by: tokctl completion fish\n");
    for (size_t i = 0; i < wd_verb_count(); i++) {
        verb.in = wd_verb_at(i);
        fish_words(verb.in, i);
        wd_verb_options(verb.in, verb.out, fish_option);
    }
}

static int run(wd_tokctl *ctl, int argc, char **argv)
{
    static const struct {
        const char *shell;
        void (*print)(void);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    arguments args = {.ctl = ctl};
    wd_error err = {0};
    wd_tokctl_parse(&wd_verb_completion, argc, argv, &args);
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
        if (strcmp(shells[i].shell, args.shell) != 0)
            continue;
        shells[i].print();
        return fflush(stdout) == 0 ? WD_EXIT_OK : WD_EXIT_FAILED;
    }
    (void)wd_fail(&err, WD_INVALID_ARGUMENT, "%.40s: bash, zsh or fish", args.shell);
    wd_tokctl_usage(ctl, &err);
}

const wd_verb wd_verb_completion = {
    .name = "completion",
    .help = "for bash, zsh or fish",
    .args = "SHELL",
    .doc = doc,
    .parser = parse,
    .flags = WD_VERB_ALONE,
    .run = run,
};
