/* tokctl unwrap - the token inside a one-time wrap. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/c/cleanup.h"
#include "store/tokctl/backend.h"
#include "store/tokctl/issued.h"
#include "store/tokctl/secret.h"

enum option_key { OPTION_OUT = 256 };

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    const char *in, *out;
} arguments;

static const struct argp_option options[] = {
    {"out", OPTION_OUT, "FILE", 0, "The secret to a new file of mode 0600", 0},
    {0},
};

static const char doc[] =
    "Take the token out of a one-time wrap (wdw1_...), which is read from standard "
    "input for '-', or from a file of mode 0600. It works once: that it was unwrapped "
    "already means that somebody else has the token, which is then revoked.\v"
    "  tokctl unwrap - --out trainer/token <wrap";

/* NOLINTNEXTLINE(readability-non-const-parameter): argp's signature */
static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case OPTION_OUT:
        args->out = value;
        return 0;
    case ARGP_KEY_ARG:
        if (args->in != NULL)
            wd_tokctl_misuse(state, "one FILE, or '-'");
        args->in = value;
        return 0;
    case ARGP_KEY_NO_ARGS:
        wd_tokctl_misuse(state, "the wrap's FILE is missing, or '-'");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The wrap is the call's own token: it is put where the client looks for one. */
static wd_status take_wrap(const char *in, int *ret_fd, char ret_path[32],
                           wd_error *err)
{
    wd_token_text wrap;
    WD_TRY(wd_secret_read(in, &wrap, err));
    wd_token_name name = {.kind = WD_TOKEN_DATA};
    (void)wd_token_parse(wrap.chars, &name);
    int fd = name.kind == WD_TOKEN_WRAP ? memfd_create("wrap", MFD_CLOEXEC) : -1;
    bool kept = fd >= 0 && fchmod(fd, 0600) == 0 &&
                write(fd, wrap.chars, WD_TOKEN_CHARS) == (ssize_t)WD_TOKEN_CHARS;
    wd_token_text_wipe(&wrap);
    *ret_fd = fd;
    (void)snprintf(ret_path, 32, "/proc/self/fd/%d", fd);
    if (name.kind != WD_TOKEN_WRAP)
        return wd_fail(err, WD_INVALID_ARGUMENT, "this is no wrap (wdw1_...)");
    return kept ? WD_OK : wd_fail(err, WD_INTERNAL, "no memory for the wrap");
}

static int run(wd_tokctl *ctl, int argc, char **argv)
{
    arguments args = {.ctl = ctl};
    wd_error err = {0};
    char path[32];
    WD_AUTO_FD int fd = -1;
    Warded__V1__UnwrapRequest ask;
    warded__v1__unwrap_request__init(&ask);
    wd_tokctl_parse(&wd_verb_unwrap, argc, argv, &args);
    if (take_wrap(args.in, &fd, path, &err) != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    ctl->gate.token = path;
    const wd_issuing issuing = {
        .path = WD_TOKEN_METHOD(Unwrap),
        .request = &ask.base,
        .read = wd_issued_of_unwrap,
        .out = args.out,
    };
    return wd_issuing_run(ctl, &issuing);
}

const wd_verb wd_verb_unwrap = {
    .name = "unwrap",
    .help = "take the token out of a one-time wrap",
    .args = "FILE|-",
    .doc = doc,
    .options = options,
    .parser = parse,
    .run = run,
};
