/* warded health - asks the supervisor's ctl socket, prints a line a process. */
#include "server/cmd.h"
#include "server/ctl.h"

#include <stdio.h>
#include <string.h>

static const char *find(const char *text, const char *name, const char *what, char *out,
                        size_t size)
{
    char key[64];
    (void)snprintf(key, sizeof(key), "%s.%s", name, what);
    if (!wd_ctl_find(text, key, out, size))
        (void)snprintf(out, size, "?");
    return out;
}

/* "gate  ready  pid 12  up 40 s  starts 1"; true when it is ready. */
static bool print_child(const char *text, const char *name)
{
    char state[32];
    char pid[32];
    char since[32];
    char starts[32];
    char reason[1200];
    find(text, name, "state", state, sizeof(state));
    find(text, name, "since_ms", since, sizeof(since));
    printf("%-11s %-9s pid %-7s for %lld s, started %s times\n", name, state,
           find(text, name, "pid", pid, sizeof(pid)), strtoll(since, NULL, 10) / 1000,
           find(text, name, "starts", starts, sizeof(starts)));
    if (*find(text, name, "reason", reason, sizeof(reason)) != '\0')
        printf("%-11s %s\n", "", reason);
    return strcmp(state, "ready") == 0;
}

int wd_cmd_health(const char *home, int argc, char **argv)
{
    const struct argp argp = {NULL,
                              NULL,
                              NULL,
                              "Ask a running 'warded serve' how its processes are. "
                              "Exit status 0: both ready; "
                              "1: not both; 6: it does not run.",
                              NULL,
                              NULL,
                              NULL};
    wd_command_parse(&argp, argc, argv, NULL);
    wd_error err = {0};
    wd_places places;
    char text[WD_CTL_TEXT_BYTES];
    if (wd_places_init(&places, home, &err) != WD_OK)
        return wd_cmd_fail("warded health", &err);
    wd_status status = wd_ctl_ask(places.run_dir, text, &err);
    wd_places_done(&places);
    if (status != WD_OK)
        return wd_cmd_fail("warded health", &err);
    char pid[32] = "?";
    (void)wd_ctl_find(text, "supervisor.pid", pid, sizeof(pid));
    printf("%-11s %-9s pid %s\n", "supervisor", "ready", pid);
    bool execd = print_child(text, "execd");
    bool gate = print_child(text, "gate");
    return execd && gate ? WD_EXIT_OK : WD_EXIT_FAILED;
}
