/* tokctl list - tokens that pass a filter, page by page; never their secrets. */
#include <stdio.h>
#include <string.h>

#include "store/tokctl/backend.h"
#include "store/tokctl/progress.h"
#include "store/tokctl/selectors.h"
#include "store/tokctl/verbs.h"
#include "store/tokctl/views.h"
#include "warded/v1/token.pb-c.h"

#define PAGE_ROWS  1000U
#define LIMIT_MOST 1000000000U

enum option_key { OPTION_SORT = 256, OPTION_CURSOR };

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    wd_selectors selectors;
    Warded__V1__ListRequest ask;
    uint64_t limit;
} arguments;

static const struct argp_option options[] = {
    {"sort", OPTION_SORT, "FIELD", 0,
     "created, expires, used, name, owner or id; -FIELD the other way round [created]",
     0},
    {"limit", 'n', "N", 0, "At most so many; 0: all of them [0]", 0},
    {"cursor", OPTION_CURSOR, "CURSOR", 0, "Go on where the last answer ended", 0},
    {0},
};

static const char doc[] =
    "List tokens, oldest first. Secrets are not shown: nobody has them but those they "
    "were told.\v"
    "  tokctl list --state active --owner ann\n"
    "  tokctl list --expiring 2d --sort expires\n"
    "  tokctl list --filter 'scope=env:* used<-30d' -o name";

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case OPTION_SORT:
        args->ask.sort = value;
        return 0;
    case 'n':
        args->limit = wd_tokctl_number(state, "--limit", value, 0, LIMIT_MOST);
        return 0;
    case OPTION_CURSOR:
        args->ask.cursor = value;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* What is left to be printed; 0 in `limit` was "all of them". */
static uint32_t page_size(const arguments *args, uint64_t n)
{
    const uint64_t left = args->limit - n;
    return args->limit == 0 || left > PAGE_ROWS ? PAGE_ROWS : (uint32_t)left;
}

static wd_status print_pages(arguments *args, wd_backend *backend, wd_output *out,
                             char **ret_cursor, wd_error *err)
{
    wd_progress progress = wd_progress_begin(args->ctl, "tokens");
    wd_status status = WD_OK;
    for (uint64_t n = 0; args->limit == 0 || n < args->limit;) {
        const ProtobufCMessage *message = NULL;
        args->ask.limit = page_size(args, n);
        status = wd_backend_call(backend, WD_TOKEN_METHOD(List), &args->ask.base,
                                 &message, err);
        if (status != WD_OK)
            break;
        const Warded__V1__ListReply *reply = (const Warded__V1__ListReply *)message;
        for (size_t i = 0; i < reply->n_tokens; i++)
            wd_output_add(out, wd_record(&reply->tokens[i]->base));
        n += reply->n_tokens;
        wd_progress_show(&progress, n, reply->total);
        free(*ret_cursor);
        *ret_cursor = strdup(reply->next_cursor);
        args->ask.cursor = *ret_cursor;
        if (*ret_cursor == NULL || (*ret_cursor)[0] == '\0')
            break;
    }
    wd_progress_end(&progress);
    return status;
}

static int print(arguments *args, wd_backend *backend)
{
    wd_error err = {0};
    WD_AUTO(wd_text) *cursor = NULL;
    WD_AUTO(wd_output) *out = wd_output_new(args->ctl, wd_token_columns);
    if (out == NULL)
        return WD_EXIT_FAILED;
    if (print_pages(args, backend, out, &cursor, &err) != WD_OK)
        return wd_tokctl_fail(args->ctl, &err);
    if (!wd_output_end(out))
        return WD_EXIT_FAILED;
    if (cursor != NULL && cursor[0] != '\0' && !args->ctl->quiet)
        (void)fprintf(stderr, "there are more: go on with --cursor '%s'\n", cursor);
    return WD_EXIT_OK;
}

static int run(wd_tokctl *ctl, int argc, char **argv)
{
    arguments args = {.ctl = ctl};
    char filter[WD_SELECTORS_BYTES];
    wd_error err = {0};
    WD_AUTO(wd_backend) *backend = NULL;
    warded__v1__list_request__init(&args.ask);
    wd_tokctl_parse(&wd_verb_list, argc, argv, &args);
    if (wd_selectors_settle(&args.selectors, filter, &err) != WD_OK)
        wd_tokctl_usage(ctl, &err);
    args.ask.filter = filter;
    if (wd_backend_open(ctl, &backend, &err) != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    return print(&args, backend);
}

const wd_verb wd_verb_list = {
    .name = "list",
    .alias = "ls",
    .help = "all tokens, never their secrets",
    .doc = doc,
    .options = options,
    .parser = parse,
    .more = &wd_selectors_argp,
    .more_title = "Which tokens:",
    .more_offset = offsetof(arguments, selectors),
    .flags = WD_VERB_OFFLINE,
    .run = run,
};
