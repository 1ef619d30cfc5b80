/* warded serve - the supervisor: finds its two programs and watches them. */
#include "server/ca_guard.h"
#include "server/cmd.h"
#include "server/files.h"
#include "server/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Where warded-execd is, seen from the folder of this program. */
static const char *const execd_places[] = {"warded-execd",
                                           "../libexec/warded/warded-execd"};

typedef struct serve {
    const wd_config *config;
    wd_supervisor_options options;
    char *execd_path;
    char *gate_path;
    wd_error *err;
} serve;

static wd_status open_program(const char *path, wd_program *program, wd_error *err)
{
    program->path = path;
    program->exe = open(path, O_PATH | O_CLOEXEC);
    if (program->exe < 0)
        return wd_fail(err, WD_NOT_FOUND, "%s: %s", path, strerror(errno));
    return WD_OK;
}

static wd_status find_programs(serve *s)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length <= 0)
        return wd_fail(s->err, WD_INTERNAL, "/proc/self/exe: %s", strerror(errno));
    self[length] = '\0';
    s->gate_path = strdup(self);
    *strrchr(self, '/') = '\0';
    WD_TRY(open_program("/proc/self/exe", &s->options.gate, s->err));
    s->options.gate.path = s->gate_path;
    for (size_t i = 0; i < sizeof(execd_places) / sizeof(execd_places[0]); i++) {
        free(s->execd_path);
        s->execd_path = wd_path_join(self, execd_places[i]);
        if (s->execd_path != NULL &&
            open_program(s->execd_path, &s->options.execd, s->err) == WD_OK)
            return WD_OK;
    }
    return wd_fail(s->err, WD_NOT_FOUND,
                   "warded-execd is neither beside this program (%s) nor in "
                   "../libexec/warded: install both together",
                   self);
}

/* The gate's account, where we are root; a gate that can't reach its files is told now,
 * in words that name the folder. */
static wd_status choose_user(serve *s)
{
    unsigned uid = 0;
    unsigned gid = 0;
    if (getuid() != 0)
        return WD_OK;
    WD_TRY(wd_config_find_user(s->config, &uid, &gid, s->err));
    s->options.gate.drop = true;
    s->options.gate.uid = uid;
    s->options.gate.gid = gid;
    const char *const needed[] = {s->config->identity.key, s->config->store.path,
                                  s->config->places.config_file,
                                  s->config->places.run_dir};
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        WD_AUTO(wd_text) *blocked = wd_path_blocked(needed[i], uid, gid);
        if (blocked != NULL)
            return wd_fail(
                s->err, WD_FAILED_PRECONDITION,
                "the gate's user \"%s\" may not enter %s, which is on the way "
                "to %s: chmod o+x it, or move everything elsewhere",
                s->config->user, blocked, needed[i]);
    }
    return WD_OK;
}

static wd_status prepare_run_dir(serve *s)
{
    const char *dir = s->config->places.run_dir;
    bool root = getuid() == 0;
    wd_owner owner = WD_OWNER_SELF;
    if (root)
        owner = (wd_owner){0, s->options.gate.gid};
    WD_TRY(wd_ensure_folder(dir, root ? 01770 : 0700, owner, s->err));
    s->options.run_dir = dir;
    return WD_OK;
}

static int run(const wd_config *config, char *home, wd_error *err)
{
    char *gate_argv[] = {"warded", "--home", home, "gate", NULL};
    char *gate_argv_system[] = {"warded", "gate", NULL};
    char *execd_argv[] = {"warded-execd", home != NULL ? "--home" : NULL, home, NULL};
    serve s = {.config = config, .err = err};
    s.options.gate = (wd_program){
        .name = "gate", .exe = -1, .argv = home != NULL ? gate_argv : gate_argv_system};
    s.options.execd = (wd_program){.name = "execd", .exe = -1, .argv = execd_argv};
    int status = WD_EXIT_CONFIG;
    if (choose_user(&s) == WD_OK && wd_ca_guard(config->places.ca_dir, err) == WD_OK &&
        prepare_run_dir(&s) == WD_OK && find_programs(&s) == WD_OK)
        status = wd_supervisor_run(&s.options, err);
    if (s.options.gate.exe >= 0)
        (void)close(s.options.gate.exe);
    if (s.options.execd.exe >= 0)
        (void)close(s.options.execd.exe);
    free(s.execd_path);
    free(s.gate_path);
    return status;
}

int wd_cmd_serve(const char *home, int argc, char **argv)
{
    const struct argp argp = {
        NULL,
        NULL,
        NULL,
        "Run the gate (as the setting 'user') and warded-execd, and start them again "
        "when "
        "they end. SIGTERM drains and stops, a second one kills; SIGHUP reads "
        "the configuration again and takes its certificates, deny-list, "
        "limits.in_flight (up to the value of the start), "
        "limits.connections_per_principal and limits.queue; or, where something is "
        "refused, nothing.",
        NULL,
        NULL,
        NULL};
    wd_command_parse(&argp, argc, argv, NULL);
    int status = WD_EXIT_OK;
    WD_AUTO(wd_config) *config = wd_cmd_load("warded serve", home, &status);
    if (config == NULL)
        return status;
    wd_error err = {0};
    status = run(config, config->places.home, &err);
    if (status != WD_EXIT_OK)
        (void)wd_cmd_fail("warded serve", &err);
    return status;
}
