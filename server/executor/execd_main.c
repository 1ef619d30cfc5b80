/* warded-execd - makes sandboxes and runs actions in them.
 *
 *     warded-execd [--home DIR] [--canary-ms N]
 *     warded-execd --help
 *
 * Started by `warded serve` with a control socket on descriptor 3. Exit: 0 stopped,
 * 64 wrong usage, 78 the sandbox or the configuration is refused: the supervisor and
 * standard error are told why. */
#include "proto/c/heap.h"
#include "server/config.h"
#include "server/control.h"
#include "server/executor/execd.h"
#include "server/log.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define EXIT_USAGE  64
#define EXIT_REFUSE 78
#define HELP        'H' /* of getopt_long */
#define CANARY_MS   (10 * 60 * 1000)

static const char help[] =
    "Usage: warded-execd [--home DIR] [--canary-ms N]\n"
    "Makes sandboxes and runs in them what the gate asks for. `warded serve` starts "
    "it,\n"
    "as root, with a control socket on descriptor 3; by hand it does nothing.\n"
    "\n"
    "  --home DIR      settings and places are DIR's; without: "
    "/etc/warded/warded.yaml\n"
    "  --canary-ms N   how often the sandbox is attacked for real, to see that it "
    "holds\n"
    "                  [600000]\n"
    "  --help          this text\n"
    "\n"
    "It is configured by sandbox: and tools: of warded.yaml. `warded check` tells of "
    "each\n"
    "layer of the sandbox whether this host has it, and how to get it.\n"
    "Exit status: 0 stopped; 64 wrong usage; 78 refused: the reason is on standard "
    "error\n"
    "and went to the supervisor.\n";

typedef struct exec_options {
    const char *home;
    int64_t canary_ms;
    bool help;
} exec_options;

static bool parse_options(int argc, char **argv, exec_options *ret)
{
    static const struct option known[] = {
        {"home", required_argument, NULL, 'h'},
        {"canary-ms", required_argument, NULL, 'c'},
        {"help", no_argument, NULL, HELP},
        {NULL, 0, NULL, 0},
    };
    *ret = (exec_options){.canary_ms = CANARY_MS};
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        char *end = NULL;
        if (option == 'h')
            ret->home = optarg;
        else if (option == 'c')
            ret->canary_ms = strtoll(optarg, &end, 10);
        else if (option == HELP)
            ret->help = true;
        else
            return false;
        if (end != NULL && (*end != '\0' || ret->canary_ms <= 0))
            return false;
    }
    return optind == argc;
}

static bool has_control(void)
{
    int type = 0;
    socklen_t size = sizeof(type);
    return getsockopt(WD_CONTROL_FD, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
           type == SOCK_SEQPACKET && fcntl(WD_CONTROL_FD, F_SETFD, FD_CLOEXEC) == 0 &&
           fcntl(WD_CONTROL_FD, F_SETFL, O_RDWR | O_NONBLOCK) == 0;
}

static wd_status serve(const wd_config *config, int64_t canary_ms, wd_error *err)
{
    wd_execd execd;
    wd_status status = wd_execd_init(&execd, config, WD_CONTROL_FD, canary_ms, err);
    if (status == WD_OK)
        status = wd_execd_run(&execd, err);
    wd_execd_done(&execd);
    return status;
}

int main(int argc, char **argv)
{
    exec_options options;
    if (!parse_options(argc, argv, &options)) {
        (void)fputs("usage: warded-execd [--home DIR] [--canary-ms N]; "
                    "--help tells more\n",
                    stderr);
        return EXIT_USAGE;
    }
    if (options.help)
        return fputs(help, stdout) < 0 || fflush(stdout) != 0 ? 1 : EXIT_SUCCESS;
    if (!has_control()) {
        (void)fputs("warded-execd: started by `warded serve`, not by hand\n", stderr);
        return EXIT_USAGE;
    }
    wd_heap_set_up();
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGINT, SIG_IGN); /* of a terminal: the supervisor decides */
    WD_AUTO(wd_config) *config = NULL;
    wd_error error;
    wd_status status = wd_config_load(options.home, &config, &error);
    if (status == WD_OK) {
        wd_log_setup(config->log.format, config->log.level);
        status = serve(config, options.canary_ms, &error);
    }
    if (status == WD_OK)
        return 0;
    wd_layer_add_cure(error.msg, sizeof(error.msg)); /* whichever layer it is about */
    wd_log(WD_LOG_ERROR, "execd.refused", WD_KV("error", error.msg));
    (void)!wd_control_send(WD_CONTROL_FD, WD_CONTROL_FAILED, -1, error.msg, NULL);
    return EXIT_REFUSE;
}
