/* tokctl - tokens and the audit trail from the command line. */
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "proto/cli/commands.h"
#include "store/tokctl/interrupt.h"
#include "store/tokctl/tokctl.h"

static const char before[] =
    "Tokens and the audit trail of a Warded gate: over RPC, as the client of a "
    "profile; or, with --db, on the store's own files while no gate can be asked.\v";

static const char after[] =
    "Each command has its own --help. Exit status: 0 done, 1 failed, 2 usage, 3 not "
    "found, 4 denied, 5 in use or in another state than needed, 6 no gate reached in "
    "time, 7 the record does not verify, 8 some of many failed, 130 interrupted.";

static wd_command command(size_t i)
{
    const size_t n = wd_verb_count();
    const wd_verb *verb = wd_verb_at(i < n ? i : i - n);
    if (i < n)
        return (wd_command){verb->group, verb->name, verb->help};
    return (wd_command){verb->group, verb->alias != NULL ? verb->alias : "", NULL};
}

static int run(size_t i, void *input, int argc, char **argv)
{
    const size_t n = wd_verb_count();
    return wd_verb_at(i < n ? i : i - n)->run(input, argc, argv);
}

/* NOLINTBEGIN(concurrency-mt-unsafe): read before any thread begins */
static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}
/* NOLINTEND(concurrency-mt-unsafe) */

static void read_environment(wd_tokctl *ctl)
{
    const char *format = environment("WARDED_OUTPUT");
    if (format != NULL && !wd_tokctl_format(format, &ctl->format)) {
        wd_error err;
        (void)wd_fail(&err, WD_INVALID_ARGUMENT,
                      "$WARDED_OUTPUT: \"%.40s\" is no format", format);
        wd_tokctl_usage(ctl, &err);
    }
    ctl->db = environment("WARDED_DB");
    ctl->home = environment("WARDED_HOME");
    ctl->timeout = environment("WARDED_TIMEOUT");
    ctl->gate = (wd_channel_options){
        .server = environment("WARDED_SERVER"),
        .ca = environment("WARDED_CA"),
        .cert = environment("WARDED_CERT"),
        .key = environment("WARDED_KEY"),
        .token = environment("WARDED_TOKEN_FILE"),
        .policy = environment("WARDED_POLICY"),
    };
}

/* The options that verbs share may also stand before the verb.
 * NOLINTNEXTLINE(readability-non-const-parameter): argp's signature */
static error_t pass_on(int key, char *value, struct argp_state *state)
{
    (void)value;
    if (key != ARGP_KEY_INIT)
        return ARGP_ERR_UNKNOWN;
    state->child_inputs[0] = state->input;
    state->child_inputs[1] = state->input;
    return 0;
}

int main(int argc, char **argv)
{
    const struct argp_child children[] = {
        {&wd_tokctl_where_argp, 0, "Who answers:", 1},
        {&wd_tokctl_output_argp, 0, "Output:", 2},
        {0},
    };
    const struct argp options = {NULL, pass_on, NULL, NULL, children, NULL, NULL};
    const wd_cli cli = {.name = "tokctl",
                        .version = "tokctl " WD_VERSION,
                        .before = before,
                        .after = after,
                        .options = &options,
                        .command = command,
                        .n_commands = 2 * wd_verb_count(),
                        .run = run};
    wd_tokctl ctl = {.verb = "tokctl", .interrupt = wd_interrupt_start()};
    (void)signal(SIGPIPE, SIG_DFL); /* a reader who has seen enough ends us quietly */
    (void)setlocale(LC_CTYPE, "C.UTF-8"); /* NOLINT(concurrency-mt-unsafe): as above */
    read_environment(&ctl);
    return wd_cli_main(&cli, &ctl, argc, argv);
}
