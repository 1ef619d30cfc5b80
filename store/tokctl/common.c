#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clients/c/failure.h"
#include "proto/c/mask.h"
#include "store/tokctl/output.h"
#include "store/tokctl/tokctl.h"

/* --- failing ---------------------------------------------------------------------- */

static wd_tokctl_exit exit_of(const wd_error *err)
{
    if (err->reason == WD_REASON_HOST_NOT_ADOPTED)
        return WD_EXIT_UNREACHABLE;
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
    case WD_UNAVAILABLE:
        return WD_EXIT_UNREACHABLE;
    case WD_CANCELLED:
    case WD_RESOURCE_EXHAUSTED:
    case WD_ABORTED:
    case WD_UNIMPLEMENTED:
    case WD_INTERNAL:
        break;
    }
    return WD_EXIT_FAILED;
}

/* An error may quote what stands in a store or on a command line. */
static void say(const wd_tokctl *ctl, const wd_error *err)
{
    WD_AUTO(wd_text) *text = wd_output_escape(err->msg);
    (void)fprintf(stderr, "%s: %s\n", ctl->verb, text != NULL ? text : "no memory");
}

int wd_tokctl_fail(const wd_tokctl *ctl, const wd_error *err)
{
    const wd_failure failure = {.code = (uint32_t)err->status,
                                .reason = (uint32_t)err->reason};
    say(ctl, err);
    if (err->reason != WD_REASON_NONE && !ctl->quiet)
        (void)fprintf(stderr, "%s: %s: %s\n", ctl->verb, wd_reason_name(err->reason),
                      wd_failure_cure(&failure));
    const bool offline = ctl->db != NULL || ctl->home != NULL;
    if (offline &&
        err->status == WD_UNAVAILABLE) /* of a disk: there is no gate to reach */
        return WD_EXIT_FAILED;
    return (int)exit_of(err);
}

_Noreturn void wd_tokctl_usage(const wd_tokctl *ctl, const wd_error *err)
{
    say(ctl, err);
    (void)fprintf(stderr, "Try '%s --help'.\n", ctl->verb);
    exit(WD_EXIT_USAGE); /* NOLINT(concurrency-mt-unsafe): no other thread of ours */
}

_Noreturn void wd_tokctl_misuse(const struct argp_state *state, const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    wd_mask_tokens(text);
    /* NOLINTBEGIN(concurrency-mt-unsafe): no other thread of ours */
    argp_error(state, "%s", text);
    exit(WD_EXIT_USAGE); /* not reached: argp has exited */
    /* NOLINTEND(concurrency-mt-unsafe) */
}

uint64_t wd_tokctl_number(struct argp_state *state, const char *option,
                          const char *text, uint64_t least, uint64_t most)
{
    size_t digits = strspn(text, "0123456789");
    uint64_t number = digits < 19 ? strtoull(text, NULL, 10) : UINT64_MAX;
    if (digits == 0 || text[digits] != '\0' || number < least || number > most)
        wd_tokctl_misuse(state, "%s %s: a whole number of %llu to %llu", option, text,
                         (unsigned long long)least, (unsigned long long)most);
    return number;
}

bool wd_tokctl_confirm(const wd_tokctl *ctl, const char *question)
{
    char answer[16];
    if (ctl->yes || ctl->dry_run)
        return true;
    if (isatty(STDIN_FILENO) == 0 || isatty(STDERR_FILENO) == 0) {
        (void)fprintf(stderr, "%s: %s: say --yes\n", ctl->verb, question);
        return false;
    }
    (void)fprintf(stderr, "%s? [y/N] ", question);
    if (fgets(answer, sizeof(answer), stdin) == NULL)
        return false;
    return tolower((unsigned char)answer[0]) == 'y';
}
