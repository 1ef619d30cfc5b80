/* tokctl man - the man page, from the table of verbs. */
#include <stdio.h>
#include <string.h>

#include "store/tokctl/exits.h"
#include "store/tokctl/verbs.h"
#include "store/tokctl/walk.h"

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
} arguments;

/* Text for roff: no line of it begins with a control character, and '-' stays '-'. */
static void put(const char *text, const char *end)
{
    bool at_start = true;
    for (; text < end; text++) {
        if (at_start && (*text == '.' || *text == '\''))
            (void)fputs("\\&", stdout);
        if (*text == '\\')
            (void)fputs("\\e", stdout);
        else if (*text == '-')
            (void)fputs("\\-", stdout);
        else
            (void)fputc(*text, stdout);
        at_start = *text == '\n';
    }
}

static void put_all(const char *text)
{
    put(text, text + strlen(text));
}

/* What stands before \v is a paragraph, what follows it examples and notes, as they are. */
static void put_doc(const char *doc)
{
    const char *split = strchr(doc, '\v');
    const char *end = split != NULL ? split : doc + strlen(doc);
    put(doc, end);
    (void)fputc('\n', stdout);
    if (split == NULL)
        return;
    printf(".PP\n.nf\n");
    put_all(split + 1);
    printf("\n.fi\n");
}

static void put_option(void *arg, wd_option_from from, const struct argp_option *option)
{
    const wd_option_from *wanted = arg;
    if ((from < WD_OPTION_OUTPUT) != (*wanted < WD_OPTION_OUTPUT) ||
        (from >= WD_OPTION_OUTPUT && from != *wanted))
        return;
    printf(".TP\n");
    if (wd_option_letter(option) != 0)
        printf("\\fB\\-%c\\fR, ", wd_option_letter(option));
    printf("\\fB\\-\\-");
    put_all(option->name);
    printf("\\fR");
    if (option->arg != NULL) {
        printf("=\\fI");
        put_all(option->arg);
        printf("\\fR");
    }
    (void)fputc('\n', stdout);
    put_all(option->doc);
    (void)fputc('\n', stdout);
}

static void put_verb(const wd_verb *verb)
{
    wd_option_from own = WD_OPTION_OWN;
    printf(".SS \"tokctl %s%s%s%s%s\"\n", verb->group != NULL ? verb->group : "",
           verb->group != NULL ? " " : "", verb->name, verb->args != NULL ? " " : "",
           verb->args != NULL ? verb->args : "");
    put_doc(verb->doc);
    wd_verb_options(verb, &own, put_option);
}

static void put_shared(const char *title, wd_option_from from)
{
    printf(".SH %s\n", title);
    wd_verb_options(&wd_verb_revoke, &from, put_option); /* it knows all of them */
}

static int run(wd_tokctl *ctl, int argc, char **argv)
{
    arguments args = {.ctl = ctl};
    wd_tokctl_parse(&wd_verb_man, argc, argv, &args);
    printf(".\\\" Made by: tokctl man\n"
           ".TH TOKCTL 1 \"\" \"Warded %s\" \"Warded\"\n"
           ".SH NAME\ntokctl \\- tokens and the audit trail of a Warded gate\n"
           ".SH SYNOPSIS\n.B tokctl\n[\\fIOPTION\\fR...] \\fICOMMAND\\fR "
           "[\\fIARGUMENT\\fR...]\n.SH COMMANDS\n",
           WD_VERSION);
    for (size_t i = 0; i < wd_verb_count(); i++)
        put_verb(wd_verb_at(i));
    put_shared("OUTPUT OPTIONS", WD_OPTION_OUTPUT);
    put_shared("WHO ANSWERS", WD_OPTION_WHERE);
    printf(".SH \"EXIT STATUS\"\n");
    for (size_t i = 0; wd_exit_at(i) != NULL; i++) {
        printf(".TP\n\\fB%d\\fR\n", (int)wd_exit_at(i)->status);
        put_all(wd_exit_at(i)->text);
        (void)fputc('\n', stdout);
    }
    return fflush(stdout) == 0 ? WD_EXIT_OK : WD_EXIT_FAILED;
}

const wd_verb wd_verb_man = {
    .name = "man",
    .help = "this program's man page: tokctl man | man -l -",
    .doc = "Print the man page.\v  tokctl man | man -l -",
    .flags = WD_VERB_ALONE,
    .run = run,
};
