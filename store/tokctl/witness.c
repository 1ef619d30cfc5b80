#include "store/tokctl/witness.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "proto/c/cleanup.h"
#include "proto/c/sha256.h"

#define HASH_DIGITS ((size_t)WD_AUDIT_HASH_BYTES * 2)

typedef struct wd_place_of_line {
    const char *path;
    size_t number;
} wd_place_of_line;

void wd_witness_done(wd_witness *witness)
{
    free(witness->heads);
    *witness = (wd_witness){0};
}

static wd_status add(wd_witness *witness, const wd_head *head, wd_error *err)
{
    if (witness->n == witness->room) {
        size_t room = witness->room == 0 ? 64 : witness->room * 2;
        wd_head *heads = reallocarray(witness->heads, room, sizeof(wd_head));
        if (heads == NULL)
            return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for %zu heads", room);
        witness->heads = heads;
        witness->room = room;
    }
    witness->heads[witness->n++] = *head;
    return WD_OK;
}

/* "SEQ HEXHASH", nothing more. */
static bool parse_line(const char *line, wd_head *ret_head)
{
    size_t digits = strspn(line, "0123456789");
    if (digits == 0 || digits > 18 || line[digits] != ' ')
        return false;
    const char *hash = line + digits + 1;
    ret_head->seq = strtoull(line, NULL, 10);
    return strlen(hash) == HASH_DIGITS &&
           wd_hex_parse(hash, ret_head->hash, WD_AUDIT_HASH_BYTES);
}

/* `line` of `size` bytes, without its newline. */
static wd_status take_line(wd_witness *witness, char *line, size_t size,
                           const wd_place_of_line *place, wd_error *err)
{
    wd_head head = {0};
    if (size > 0 && line[size - 1] == '\r')
        line[--size] = '\0';
    if (size == 0 || line[0] == '#')
        return WD_OK;
    if (strlen(line) != size || !parse_line(line, &head)) /* a NUL hides what follows */
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "%s:%zu: not a head: a seq, a space, 64 hex digits", place->path,
                       place->number);
    return head.seq == 0 ? WD_OK : add(witness, &head, err);
}

/* A last line without its newline was being written: it is left out. */
static wd_status read_lines(wd_witness *witness, FILE *file, const char *path,
                            wd_error *err)
{
    WD_AUTO(wd_text) *line = NULL;
    size_t room = 0;
    for (wd_place_of_line place = {path, 1};; place.number++) {
        ssize_t size = getline(&line, &room, file);
        if (size <= 0 || line[size - 1] != '\n')
            return WD_OK;
        line[--size] = '\0';
        WD_TRY(take_line(witness, line, (size_t)size, &place, err));
    }
}

static wd_status read_file(wd_witness *witness, const char *path, wd_error *err)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return wd_fail(err, WD_PERMISSION_DENIED, "could not read %s: %s", path,
                       strerrordesc_np(errno));
    wd_status status = read_lines(witness, file, path, err);
    (void)fclose(file);
    return status;
}

static void auto_dir(DIR **dir)
{
    if (*dir != NULL)
        (void)closedir(*dir);
}

static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static wd_status read_dir(wd_witness *witness, const char *path, wd_error *err)
{
    __attribute__((cleanup(auto_dir))) DIR *dir = opendir(path);
    if (dir == NULL)
        return wd_fail(err, WD_PERMISSION_DENIED, "could not read %s: %s", path,
                       strerrordesc_np(errno));
    size_t n_files = 0;
    const struct dirent *entry = NULL;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own */
    while ((entry = readdir(dir)) != NULL) {
        WD_AUTO(wd_text) *name = NULL;
        if (asprintf(&name, "%s/%s", path, entry->d_name) < 0)
            return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for a path");
        if (!is_file(name))
            continue;
        WD_TRY(read_file(witness, name, err));
        n_files++;
    }
    if (n_files == 0)
        return wd_fail(err, WD_NOT_FOUND,
                       "%s holds no files: name the folder of one gate, such as "
                       "~/.local/state/warded/heads/GATE",
                       path);
    return WD_OK;
}

wd_status wd_witness_read(wd_witness *witness, const char *path, wd_error *err)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return wd_fail(err, WD_NOT_FOUND, "witness %s: %s", path,
                       strerrordesc_np(errno));
    return S_ISDIR(st.st_mode) ? read_dir(witness, path, err)
                               : read_file(witness, path, err);
}
