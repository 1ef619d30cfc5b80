#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/c/clock.h"
#include "store/tokctl/tokctl.h"

#define SYSTEM_STORE "/var/lib/warded/store"

/* --- failing ---------------------------------------------------------------------- */

static wd_tokctl_exit exit_of(const wd_error *err)
{
    switch (err->status) {
    case WD_OK:
        return WD_EXIT_OK;
    case WD_INVALID_ARGUMENT:
        return WD_EXIT_USAGE;
    case WD_NOT_FOUND:
        return WD_EXIT_NOT_FOUND;
    case WD_PERMISSION_DENIED:
    case WD_UNAUTHENTICATED:
        return WD_EXIT_DENIED;
    case WD_FAILED_PRECONDITION:
        return WD_EXIT_CONFLICT;
    case WD_DATA_LOSS:
        return WD_EXIT_INTEGRITY;
    case WD_DEADLINE_EXCEEDED:
        return WD_EXIT_UNREACHABLE;
    case WD_CANCELLED:
    case WD_RESOURCE_EXHAUSTED:
    case WD_ABORTED:
    case WD_UNIMPLEMENTED:
    case WD_INTERNAL:
    case WD_UNAVAILABLE:
        break;
    }
    return WD_EXIT_FAILED;
}

int wd_tokctl_fail(const wd_tokctl *ctl, const wd_error *err)
{
    (void)fprintf(stderr, "%s: %s\n", ctl->verb, err->msg);
    return (int)exit_of(err);
}

_Noreturn void wd_tokctl_usage(const wd_tokctl *ctl, const wd_error *err)
{
    (void)fprintf(stderr, "%s: %s\nTry '%s --help'.\n", ctl->verb, err->msg, ctl->verb);
    exit(WD_EXIT_USAGE); /* NOLINT(concurrency-mt-unsafe): one thread */
}

_Noreturn void wd_tokctl_misuse(const struct argp_state *state, const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    /* NOLINTBEGIN(concurrency-mt-unsafe): one thread */
    argp_error(state, "%s", text);
    exit(WD_EXIT_USAGE); /* not reached: argp has exited */
    /* NOLINTEND(concurrency-mt-unsafe) */
}

/* --- the options that every verb has ---------------------------------------------- */

static const struct argp_option common_options[] = {
    {"db", 'd', "DIR", 0, "The store's folder [$WARDED_DB, else " SYSTEM_STORE "]", 0},
    {"home", 'H', "DIR", 0,
     "The home given to 'warded --home': the store is DIR/state/store [$WARDED_HOME]",
     0},
    {"output", 'o', "FORMAT", 0,
     "table (for people), json (an array) or jsonl (a line a "
     "record)",
     0},
    {NULL, 'h', NULL, OPTION_HIDDEN, "The same as --help", 0},
    {0},
};

static bool read_format(const char *text, wd_format *ret_format)
{
    static const char *const names[] = {"table", "json", "jsonl"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i], text) == 0) {
            *ret_format = (wd_format)i;
            return true;
        }
    }
    return false;
}

static error_t parse_common(int key, char *value, struct argp_state *state)
{
    wd_tokctl *ctl = state->input;
    switch (key) {
    case 'd':
        ctl->db = value;
        return 0;
    case 'H':
        ctl->home = value;
        ctl->db = NULL; /* over $WARDED_DB */
        return 0;
    case 'h':
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    case 'o':
        if (!read_format(value, &ctl->format))
            wd_tokctl_misuse(state, "-o %s: table, json or jsonl", value);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp wd_tokctl_common = {common_options, parse_common, NULL, NULL,
                                      NULL,           NULL,         NULL};

typedef struct verb_input {
    wd_tokctl *ctl; /* first of every verb's input */
} verb_input;

static void find_dir(wd_tokctl *ctl)
{
    int size = 0;
    if (ctl->db != NULL)
        size = snprintf(ctl->dir, sizeof(ctl->dir), "%s", ctl->db);
    else if (ctl->home != NULL)
        size = snprintf(ctl->dir, sizeof(ctl->dir), "%s/state/store", ctl->home);
    else
        size = snprintf(ctl->dir, sizeof(ctl->dir), "%s", SYSTEM_STORE);
    if (size < 0 || (size_t)size >= sizeof(ctl->dir)) {
        wd_error err;
        (void)wd_fail(&err, WD_INVALID_ARGUMENT, "the store's path is too long");
        wd_tokctl_usage(ctl, &err);
    }
}

void wd_tokctl_parse(const wd_tokctl_args *args, int argc, char **argv, void *input)
{
    wd_tokctl *ctl = ((verb_input *)input)->ctl;
    const struct argp_child children[] = {
        {&wd_tokctl_common, 0, "Where and how:", 9},
        {args->child, 0, "Filters:", 5}, /* NULL ends the list */
        {0},
    };
    const struct argp argp = {
        args->options, args->parser, args->args_doc, args->doc, children, NULL, NULL};
    char help[] = "--help";
    ctl->verb = argv[0];
    if (argc == 2 && strcmp(argv[1], "help") == 0)
        argv[1] = help;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    (void)argp_parse(&argp, argc, argv, 0, NULL, input);
    find_dir(ctl);
}

/* --- the store -------------------------------------------------------------------- */

wd_status wd_tokctl_open(const wd_tokctl *ctl, wd_store **ret_store, wd_error *err)
{
    wd_store_options options = {.dir = ctl->dir};
    return wd_store_open(&options, ret_store, err);
}

wd_status wd_tokctl_read(const wd_tokctl *ctl, wd_reader **ret_reader, wd_error *err)
{
    return wd_reader_open(ctl->dir, NULL, ret_reader, err);
}

int64_t wd_tokctl_now(const wd_reader *reader)
{
    int64_t now = wd_clock_wall_ms(wd_clock_system());
    int64_t highest = wd_reader_highest_ms(reader);
    return now > highest ? now : highest;
}

void wd_tokctl_principal(char *ret_text, size_t size)
{
    (void)snprintf(ret_text, size, "local:%u", getuid());
}
