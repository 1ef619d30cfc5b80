#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/c/cleanup.h"
#include "proto/c/sha256.h"
#include "store/tokctl/find.h"
#include "store/tokctl/scan.h"

#define NAME_CHARS  64U /* an object's name: 40 or 64 digits */
#define PIECE_BYTES (64U << 10)
#define WHERE_BYTES 512U

/* --- a program at the end of a pipe --------------------------------------------------------- */

typedef struct reading {
    pid_t pid;
    FILE *out;
} reading;

/* Without its words on standard error: what it means is ours to say. */
static bool start(char *const argv[], reading *ret)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    (void)posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
    (void)posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY,
                                           0);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    int rc = posix_spawnp(&ret->pid, argv[0], &files, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    (void)close(ends[1]);
    ret->out = rc == 0 ? fdopen(ends[0], "r") : NULL;
    if (ret->out == NULL)
        (void)close(ends[0]);
    return ret->out != NULL;
}

/* Its exit status was 0. */
static bool finish(reading *program)
{
    int status = 0;
    (void)fclose(program->out);
    return waitpid(program->pid, &status, 0) == program->pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

static char *writable(const char *text)
{
    char *same = NULL; /* argv lacks const */
    memcpy(&same, &text, sizeof(same));
    return same;
}

/* --- what a blob was called ------------------------------------------------------------------ */

typedef struct history {
    wd_scan *scan;
    const char *path; /* of the repository */
    char object[NAME_CHARS + 1];
    char where[WHERE_BYTES];
    bool named; /* `where` is this object's */
} history;

/* "git:OBJECT:FILE"; the file by any name that it had, where a commit can reach it. */
static void name_object(history *h)
{
    char *const argv[] = {writable("git"),
                          writable("-C"),
                          writable(h->path),
                          writable("rev-list"),
                          writable("--objects"),
                          writable("--all"),
                          NULL};
    reading program;
    WD_AUTO(wd_text) *line = NULL;
    size_t room = 0;
    const size_t size = strlen(h->object);
    h->named = true;
    (void)snprintf(h->where, sizeof(h->where), "git:%.12s", h->object);
    if (!start(argv, &program))
        return;
    while (getline(&line, &room, program.out) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, h->object, size) == 0 && line[size] == ' ' &&
            line[size + 1] != '\0')
            (void)snprintf(h->where, sizeof(h->where), "git:%.12s:%.400s", h->object,
                           line + size + 1);
    }
    (void)finish(&program);
}

static bool found(void *arg, const wd_token_text *token, size_t line)
{
    history *h = arg;
    if (!h->named)
        name_object(h);
    const wd_sighting sighting = {h->where, line, token};
    return h->scan->found(h->scan->arg, &sighting);
}

/* --- all objects ------------------------------------------------------------------------------- */

/* "NAME TYPE SIZE"; false: the stream has ended, or is none of git's. */
static bool read_header(FILE *out, history *h, size_t *ret_size)
{
    char line[128];
    if (fgets(line, sizeof(line), out) == NULL)
        return false;
    h->named = false;
    size_t name = strspn(line, "0123456789abcdef");
    const char *size = strrchr(line, ' '); /* behind the type */
    if (name == 0 || name > NAME_CHARS || line[name] != ' ' || size == line + name)
        return false;
    char *end = NULL;
    *ret_size = strtoull(size, &end, 10);
    (void)snprintf(h->object, sizeof(h->object), "%.*s", (int)name, line);
    return end != size + 1 && *end == '\n';
}

/* The content and the newline behind it. false: the stream is broken. */
static bool scan_object(FILE *out, history *h, size_t size, bool *ret_more)
{
    wd_finder finder = {.arg = h, .found = found};
    uint8_t piece[PIECE_BYTES];
    bool whole = true;
    for (size_t left = size; left > 0 && whole;) {
        size_t n = fread(piece, 1, left < sizeof(piece) ? left : sizeof(piece), out);
        whole = n > 0;
        left -= n;
        *ret_more = *ret_more && wd_finder_feed(&finder, (wd_span){piece, n});
    }
    *ret_more = wd_finder_end(&finder) && *ret_more;
    wd_wipe(piece, sizeof(piece));
    return whole && fgetc(out) == '\n';
}

wd_status wd_scan_git(wd_scan *scan, const char *path, wd_error *err)
{
    char *const argv[] = {writable("git"),      writable("-C"),
                          writable(path),       writable("cat-file"),
                          writable("--batch"),  writable("--batch-all-objects"),
                          writable("--buffer"), NULL};
    history h = {.scan = scan, .path = path};
    reading program;
    size_t size = 0;
    bool more = true;
    bool whole = true;
    if (!start(argv, &program))
        return wd_fail(err, WD_FAILED_PRECONDITION, "there is no git program");
    while (more && whole && read_header(program.out, &h, &size)) {
        scan->files++;
        whole = scan_object(program.out, &h, size, &more);
    }
    if (!more)
        (void)kill(program.pid, SIGTERM);
    if (finish(&program) || !more)
        return WD_OK;
    return wd_fail(err, WD_FAILED_PRECONDITION,
                   "%s: git could not read it: is it a repository of ours?", path);
}
