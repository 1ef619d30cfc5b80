/* warded gate - not for people: the process that 'warded serve' starts. */
#include "server/cmd.h"
#include "server/control.h"
#include "server/gate.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>

static bool has_supervisor(void)
{
    int type = 0;
    socklen_t size = sizeof(type);
    return getsockopt(WD_CONTROL_FD, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
           type == SOCK_SEQPACKET;
}

int wd_cmd_gate(const char *home, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    wd_error err = {0};
    if (!has_supervisor()) {
        (void)fprintf(stderr, "warded gate: started by 'warded serve' only\n");
        return WD_EXIT_USAGE;
    }
    (void)prctl(PR_SET_NAME, "warded-gate", 0, 0, 0);
    WD_AUTO(wd_config) *config = NULL;
    if (wd_config_load(home, &config, &err) != WD_OK) {
        (void)!wd_control_send(WD_CONTROL_FD, WD_CONTROL_FAILED, -1, err.msg, NULL);
        return WD_EXIT_CONFIG;
    }
    wd_log_setup(config->log.format, config->log.level);
    return wd_gate_run(config, WD_CONTROL_FD);
}
