#include "clients/c/witness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "proto/c/clock.h"
#include "proto/c/sha256.h"

#define PERIOD_MS   1000
#define FILE_BYTES  (256 << 10)
#define PATH_BYTES  1024
#define CHAIN_BYTES 240
#define FILES_COUNT 64

struct wd_notes {
    pthread_mutex_t lock;
    char base[PATH_BYTES - CHAIN_BYTES - 32]; /* .../warded/heads */
    char chain[CHAIN_BYTES];
    uint64_t seq, written_seq;
    uint8_t hash[WD_SHA256_BYTES];
    int64_t next_ms;
};

wd_notes *wd_notes_new(void)
{
    /* NOLINTBEGIN(concurrency-mt-unsafe): read, once, at open */
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    /* NOLINTEND(concurrency-mt-unsafe) */
    bool named = state != NULL && state[0] != '\0';
    WD_AUTO(wd_notes) *notes = calloc(1, sizeof(*notes));
    if (notes == NULL)
        return NULL;
    pthread_mutex_init(&notes->lock, NULL);
    if (!named && (home == NULL || home[0] == '\0'))
        return NULL;
    int size = snprintf(notes->base, sizeof(notes->base), "%s%s/warded/heads",
                        named ? state : home, named ? "" : "/.local/state");
    if (size < 0 || (size_t)size >= sizeof(notes->base))
        return NULL;
    return WD_STEAL(notes);
}

/* "warded.local_ns_default_owner_me_gate_box.1f2e3d4c" */
static void name_chain(wd_notes *notes, const char *gate, const char *trust)
{
    size_t n = 0;
    if (strncmp(gate, "spiffe://", 9) == 0)
        gate += 9;
    for (; *gate != '\0' && n < 200; gate++) {
        bool plain = strchr("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuv"
                            "wxyz.-",
                            *gate) != NULL;
        if (plain && (n > 0 || *gate != '.'))
            notes->chain[n++] = *gate;
        else if (!plain && (n == 0 || notes->chain[n - 1] != '_'))
            notes->chain[n++] = '_';
    }
    (void)snprintf(notes->chain + n, sizeof(notes->chain) - n, ".%s", trust);
}

static bool make_folders(char *path)
{
    for (char *at = path + 1; *at != '\0'; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
        *at = '/';
        if (!made)
            return false;
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* More than enough processes have left their notes: ours go without. */
static bool has_room(const char *folder)
{
    DIR *dir = opendir(folder);
    size_t n = 0;
    if (dir == NULL)
        return false;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own */
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        n += e->d_name[0] != '.' ? 1 : 0;
    (void)closedir(dir);
    return n < FILES_COUNT;
}

/* Never waits, as for a pipe of that name. -1: it can't be had. */
static int open_regular(const char *path)
{
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK;
    WD_AUTO_FD int fd = open(path, flags, 0600);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return -1;
    return WD_STEAL_FD(fd);
}

/* With the lock held. */
static void write_down(wd_notes *notes)
{
    char path[PATH_BYTES];
    char digits[WD_SHA256_HEX_BYTES];
    struct stat st;
    int size = snprintf(path, sizeof(path), "%s/%s", notes->base, notes->chain);
    notes->written_seq = notes->seq;
    notes->next_ms = wd_clock_mono_ms(wd_clock_system()) + PERIOD_MS;
    if (size < 0 || (size_t)size + 32 > sizeof(path) || !make_folders(path))
        return;
    bool room = has_room(path);
    (void)snprintf(path + size, sizeof(path) - (size_t)size, "/%d.heads", getpid());
    if (stat(path, &st) == 0 ? st.st_size > FILE_BYTES : !room)
        return;
    WD_AUTO_FD int fd = open_regular(path);
    wd_hex((wd_span){notes->hash, sizeof(notes->hash)}, digits);
    if (fd >= 0)
        (void)dprintf(fd, "%llu %s\n", (unsigned long long)notes->seq, digits);
}

void wd_notes_take(wd_notes *notes, const char *gate, const char *trust, uint64_t seq,
                   const uint8_t hash[WD_SHA256_BYTES])
{
    if (notes == NULL)
        return;
    pthread_mutex_lock(&notes->lock);
    if (seq > notes->seq) {
        notes->seq = seq;
        memcpy(notes->hash, hash, sizeof(notes->hash));
        name_chain(notes, gate, trust);
        if (wd_clock_mono_ms(wd_clock_system()) >= notes->next_ms)
            write_down(notes);
    }
    pthread_mutex_unlock(&notes->lock);
}

void wd_notes_free(wd_notes *notes)
{
    if (notes == NULL)
        return;
    if (notes->seq != notes->written_seq)
        write_down(notes);
    pthread_mutex_destroy(&notes->lock);
    free(notes);
}
