/* tokctl - tokens and the audit trail from the command line: a table of verbs. */
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/tokctl/tokctl.h"

static const struct verb {
    const char *group; /* NULL, or "audit" */
    const char *name;
    wd_tokctl_run *run;
    const char *help;
} verbs[] = {
    {NULL, "issue", wd_tokctl_issue, "make a token; its secret is told once"},
    {NULL, "list", wd_tokctl_list, "all tokens, never their secrets"},
    {NULL, "show", wd_tokctl_show, "everything about one token"},
    {NULL, "revoke", wd_tokctl_revoke, "take tokens back"},
    {"audit", "query", wd_tokctl_audit_query, "rows of the trail, by filters"},
    {"audit", "tail", wd_tokctl_audit_tail, "the newest rows"},
    {"audit", "verify", wd_tokctl_audit_verify, "is the trail what was written?"},
};
#define N_VERBS (sizeof(verbs) / sizeof(verbs[0]))

static const char doc[] =
    "Tokens and the audit trail of a Warded store on this host.\v"
    "Each verb has its own --help. A gate that runs holds the store: verbs that change "
    "it "
    "(issue, revoke) then end with 5 and name its process, the others read beside "
    "it.\n\n"
    "Exit status: 0 done, 1 failed, 2 usage, 3 not found, 4 denied, 5 the store is in "
    "use "
    "or in another state than needed, 6 unreachable, 7 the record does not verify.";

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    int verb;       /* index in argv */
} arguments;

static void print_verbs(FILE *out, const char *group)
{
    for (size_t i = 0; i < N_VERBS; i++) {
        if (group == NULL ||
            (verbs[i].group != NULL && strcmp(verbs[i].group, group) == 0))
            (void)fprintf(out, "  %-6s%-8s %s\n",
                          verbs[i].group != NULL ? verbs[i].group : "", verbs[i].name,
                          verbs[i].help);
    }
}

/* The text after the options: the table of verbs, then the rest of doc. */
static char *with_verbs(int key, const char *text, void *input)
{
    (void)input;
    char *unchanged = NULL; /* argp wants its own pointer back, without const */
    memcpy(&unchanged, &text, sizeof(unchanged));
    char *help = NULL;
    size_t size = 0;
    FILE *out = key == ARGP_KEY_HELP_POST_DOC ? open_memstream(&help, &size) : NULL;
    if (out == NULL)
        return unchanged;
    (void)fprintf(out, "Verbs:\n");
    print_verbs(out, NULL);
    (void)fprintf(out, "\n%s", text);
    (void)fclose(out);
    return help;
}

/* argp's signature. NOLINTNEXTLINE(readability-non-const-parameter) */
static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    (void)value;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->ctl;
        return 0;
    case ARGP_KEY_ARG: /* the verb; what follows is its own */
        args->verb = state->next - 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
        argp_state_help(state, stderr,
                        ARGP_HELP_USAGE | ARGP_HELP_SHORT_USAGE | ARGP_HELP_SEE |
                            ARGP_HELP_EXIT_ERR);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool is_group(const char *word)
{
    for (size_t i = 0; i < N_VERBS; i++) {
        if (verbs[i].group != NULL && strcmp(verbs[i].group, word) == 0)
            return true;
    }
    return false;
}

static const struct verb *find_verb(const char *group, const char *name)
{
    for (size_t i = 0; i < N_VERBS; i++) {
        bool same_group = (group == NULL) == (verbs[i].group == NULL) &&
                          (group == NULL || strcmp(verbs[i].group, group) == 0);
        if (same_group && strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    }
    return NULL;
}

static bool is_help(const char *word)
{
    return strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 ||
           strcmp(word, "-h") == 0;
}

/* "tokctl audit": which verbs there are. */
static int show_group(const char *group, bool asked)
{
    FILE *out = asked ? stdout : stderr;
    (void)fprintf(out, "Usage: tokctl %s VERB [ARGUMENT...]\n\nVerbs:\n", group);
    print_verbs(out, group);
    (void)fprintf(out, "\nEach verb has its own --help.\n");
    return asked ? WD_EXIT_OK : WD_EXIT_USAGE;
}

static int unknown_verb(const char *group, const char *name)
{
    (void)fprintf(stderr, "tokctl: there is no verb \"%s%s%.40s\"; verbs are:",
                  group != NULL ? group : "", group != NULL ? " " : "", name);
    for (size_t i = 0; i < N_VERBS; i++)
        (void)fprintf(stderr, "%s %s%s%s", i > 0 ? "," : "",
                      verbs[i].group != NULL ? verbs[i].group : "",
                      verbs[i].group != NULL ? " " : "", verbs[i].name);
    (void)fprintf(stderr, "\n");
    return WD_EXIT_USAGE;
}

/* argv[0] is the verb, or the group before it. */
static int run_verb(wd_tokctl *ctl, int argc, char **argv)
{
    const char *group = is_group(argv[0]) ? argv[0] : NULL;
    int skip = group != NULL ? 1 : 0;
    const char *name = argc > skip ? argv[skip] : "";
    if (group != NULL && (argc == skip || is_help(name)))
        return show_group(group, argc > skip);
    const struct verb *verb = find_verb(group, name);
    if (verb == NULL)
        return unknown_verb(group, name);
    char shown[64]; /* "tokctl audit query": what messages call it */
    (void)snprintf(shown, sizeof(shown), "tokctl %s%s%s", group != NULL ? group : "",
                   group != NULL ? " " : "", name);
    argv[skip] = shown;
    return verb->run(ctl, argc - skip, argv + skip);
}

/* "help VERB..." becomes "VERB... --help"; "help" alone "--help": true, parse again. */
static bool take_help(int argc, char **argv, char *option)
{
    if (strcmp(argv[0], "help") != 0)
        return false;
    memmove(argv, argv + 1, (size_t)(argc - 1) * sizeof(argv[0]));
    argv[argc - 1] = option;
    return argc == 1;
}

/* A descriptor that opens as 0, 1 or 2 would be written to as a terminal. */
static void ensure_standard_descriptors(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = dup(fd);
    if (fd > STDERR_FILENO)
        (void)close(fd);
}

/* NOLINTBEGIN(concurrency-mt-unsafe): one thread */
int main(int argc, char **argv)
{
    ensure_standard_descriptors();
    (void)signal(SIGPIPE, SIG_DFL); /* a reader who has seen enough ends us quietly */
    (void)setlocale(LC_CTYPE, "C.UTF-8");
    wd_tokctl ctl = {
        .verb = "tokctl", .db = getenv("WARDED_DB"), .home = getenv("WARDED_HOME")};
    arguments args = {.ctl = &ctl};
    const struct argp_child children[] = {{&wd_tokctl_common, 0, NULL, 0}, {0}};
    const struct argp argp = {NULL,       parse, "VERB [ARGUMENT...]", doc, children,
                              with_verbs, NULL};
    argp_program_version = "tokctl " WD_VERSION;
    argp_err_exit_status = WD_EXIT_USAGE;
    (void)argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &args);
    char help[] = "--help";
    if (take_help(argc - args.verb, argv + args.verb, help))
        (void)argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &args);
    return run_verb(&ctl, argc - args.verb, argv + args.verb);
}
/* NOLINTEND(concurrency-mt-unsafe) */
