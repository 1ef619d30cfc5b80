#include "server/executor/canary.h"

#include "canary_text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define HELD       "canary held\n"
#define EXIT_CODE  7 /* of canary.py: a status that nothing else gives */
#define SECRET     "warded canary secret"
#define BAIT_BYTES 4096

struct wd_canary {
    const wd_config *config;
    int tcp;
    int abstract;
    char file[PATH_MAX];
    char bait[BAIT_BYTES]; /* what the action reads on stdin: where to attack */
};

static wd_status failed(const char *what, wd_error *err)
{
    return wd_fail(err, WD_UNAVAILABLE, "canary: %s: %s", what, strerror(errno));
}

static wd_status listen_tcp(wd_canary *canary, uint16_t *ret_port, wd_error *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    canary->tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (canary->tcp < 0 ||
        bind(canary->tcp, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(canary->tcp, 8) != 0 ||
        getsockname(canary->tcp, (struct sockaddr *)&address, &size) != 0)
        return failed("listen on loopback", err);
    *ret_port = ntohs(address.sin_port);
    return WD_OK;
}

/* An autobound abstract name: six bytes, a NUL first. */
static wd_status listen_abstract(wd_canary *canary, char ret_name[8], wd_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t size = sizeof(address);
    canary->abstract = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (canary->abstract < 0 ||
        bind(canary->abstract, (const struct sockaddr *)&address,
             sizeof(sa_family_t)) != 0 ||
        listen(canary->abstract, 8) != 0 ||
        getsockname(canary->abstract, (struct sockaddr *)&address, &size) != 0)
        return failed("listen on an abstract socket", err);
    (void)snprintf(ret_name, 8, "%.5s", address.sun_path + 1);
    return WD_OK;
}

static wd_status write_file(wd_canary *canary, wd_error *err)
{
    (void)snprintf(canary->file, sizeof(canary->file), "%s/canary",
                   canary->config->places.run_dir);
    (void)unlink(canary->file);
    WD_AUTO_FD int fd =
        open(canary->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, SECRET, strlen(SECRET)) != (ssize_t)strlen(SECRET))
        return failed(canary->file, err);
    return WD_OK;
}

/* "ipc:[4026531839] ...": what a slot must have another of. */
static bool list_namespaces(char *ret, size_t size)
{
    static const char *const names[] = {"user", "pid", "net",   "ipc",
                                        "uts",  "mnt", "cgroup"};
    size_t used = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[32];
        (void)snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
        ssize_t length = readlink(path, ret + used, size - used - 1);
        if (length <= 0)
            return false;
        used += (size_t)length;
        ret[used++] = ' ';
    }
    ret[used - 1] = '\0';
    return true;
}

static wd_status set_out(wd_canary *canary, wd_error *err)
{
    uint16_t port = 0;
    char name[8];
    WD_TRY(listen_tcp(canary, &port, err));
    WD_TRY(listen_abstract(canary, name, err));
    WD_TRY(write_file(canary, err));
    char spaces[BAIT_BYTES / 2];
    if (!list_namespaces(spaces, sizeof(spaces)))
        return failed("read /proc/self/ns", err);
    int size =
        snprintf(canary->bait, sizeof(canary->bait), "%u\n%s\n%d\n%s\n%s\n%llu %llu\n",
                 (unsigned)port, name, (int)getpid(), canary->file, spaces,
                 (unsigned long long)canary->config->sandbox.uid_base,
                 2 * (unsigned long long)canary->config->sandbox.slots);
    if (size >= (int)sizeof(canary->bait))
        return wd_fail(err, WD_UNAVAILABLE, "canary: the path of run/ is too long");
    return WD_OK;
}

wd_status wd_canary_new(const wd_config *config, wd_canary **ret_canary, wd_error *err)
{
    WD_AUTO(wd_canary) *canary = calloc(1, sizeof(*canary));
    if (canary == NULL)
        return wd_fail(err, WD_UNAVAILABLE, "canary: out of memory");
    canary->config = config;
    canary->tcp = -1;
    canary->abstract = -1;
    WD_TRY(set_out(canary, err));
    *ret_canary = WD_STEAL(canary);
    return WD_OK;
}

void wd_canary_free(wd_canary *canary)
{
    if (canary == NULL)
        return;
    if (canary->tcp >= 0)
        (void)close(canary->tcp);
    if (canary->abstract >= 0)
        (void)close(canary->abstract);
    if (canary->file[0] != '\0')
        (void)unlink(canary->file);
    free(canary);
}

wd_action wd_canary_action(const wd_canary *canary)
{
    const wd_config *config = canary->config;
    wd_action action = {
        .interpreter = config->n_tools > 0 ? config->tools[0].interpreter
                                           : (char *)(uintptr_t)"/usr/bin/python3",
        .code = {(const uint8_t *)wd_canary_text, sizeof(wd_canary_text) - 1},
        .stdin_data = {(const uint8_t *)canary->bait, strlen(canary->bait)},
        .limits = {.wall_ms = 20000,
                   .cpu_ms = 10000,
                   .memory_bytes = 64U << 20,
                   .pids = 16,
                   .files_bytes = 1U << 20,
                   .output_bytes = 4096},
        .end_by_ms = INT64_MAX,
    };
    return action;
}

static bool was_visited(int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return false;
    (void)close(fd);
    return true;
}

static wd_status surprise(const char *what, const wd_run_result *result, wd_error *err)
{
    int out = (int)(result->out.data.size < 150 ? result->out.data.size : 150);
    int problem = (int)(result->err.data.size < 200 ? result->err.data.size : 200);
    const char *end = (const char *)result->err.data.data + result->err.data.size;
    return wd_fail(
        err, WD_UNAVAILABLE, "canary: %s (status 0x%x, leftovers %u): %.*s %.*s", what,
        (unsigned)result->wait_status, result->leftovers, out,
        (const char *)result->out.data.data, problem, problem > 0 ? end - problem : "");
}

wd_status wd_canary_judge(const wd_canary *canary, const wd_run_result *result,
                          wd_error *err)
{
    if (result->outcome != WARDED__EXEC__V1__DONE__OUTCOME__ENDED)
        return wd_fail(err, WD_UNAVAILABLE, "%s", result->failure);
    if (was_visited(canary->tcp) || was_visited(canary->abstract))
        return surprise("it reached a socket of ours", result, err);
    if (result->out.data.size != strlen(HELD) ||
        memcmp(result->out.data.data, HELD, strlen(HELD)) != 0)
        return surprise("not what was expected", result, err);
    if (!WIFEXITED(result->wait_status) ||
        WEXITSTATUS(result->wait_status) != EXIT_CODE)
        return surprise("its exit status is not its own", result, err);
    /* of all limits it met the one that it does not die of: the kernel counted */
    if (result->cause != WARDED__EXEC__V1__DONE__CAUSE__PIDS)
        return surprise("not the limit that it met", result, err);
    if (result->leftovers != 1)
        return surprise("the child that it left was not found", result, err);
    return WD_OK;
}
