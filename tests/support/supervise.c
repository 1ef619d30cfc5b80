/* supervise RUN_DIR SOCKET PYTHON CHILD.py DEAD_MS - the supervisor over two puppets.
 *
 * Both children are CHILD.py, told their name and the socket of the test that pulls
 * their strings (see fake_child.py). Limits are short, so that a test that waits for one
 * of them is quick. Exits as `warded serve` does, with the refusal on standard error. */
#include "server/log.h"
#include "server/supervisor.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc != 6)
        return 2;
    char *execd[] = {argv[3], "-I", "-S", argv[4], argv[2], "execd", NULL};
    char *gate[] = {argv[3], "-I", "-S", argv[4], argv[2], "gate", NULL};
    int python = open(argv[3], O_PATH | O_CLOEXEC);
    wd_supervisor_options options = {
        .execd = {.name = "execd", .exe = python, .path = argv[3], .argv = execd},
        .gate = {.name = "gate", .exe = python, .path = argv[3], .argv = gate},
        .run_dir = argv[1],
        .backoff_first_ms = 20,
        .backoff_most_ms = 80,
        .start_ms = 10000,
        .stop_ms = 1000,
        .dead_ms = atoi(argv[5]),
    };
    wd_error err = {0};
    wd_log_setup(WD_LOG_TEXT, WD_LOG_DEBUG);
    int status = wd_supervisor_run(&options, &err);
    if (status != 0)
        (void)fprintf(stderr, "supervise: %s\n", err.msg);
    return status;
}
