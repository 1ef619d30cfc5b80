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

enum { MAX_LINE = 128 }; /* bytes; a head has at most 83 */

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

/* A line and its newline, which is left out, into `line`: its size. -1: the file ends
 * before its newline, or can't be read; more than MAX_LINE: so is the line. */
static ssize_t read_line(FILE *file, char line[MAX_LINE + 1])
{
    for (ssize_t size = 0; size <= MAX_LINE; size++) {
        int c = getc(file);
        if (c == EOF)
            return -1;
        line[size] = (char)c;
        if (c == '\n') {
            line[size] = '\0';
            return size;
        }
    }
    return MAX_LINE + 1;
}

static wd_status could_not_read(const char *path, wd_status status, wd_error *err)
{
    return wd_fail(err, status, "could not read %s: %s", path, strerrordesc_np(errno));
}

/* A last line without its newline was being written: it is left out. */
static wd_status read_lines(wd_witness *witness, FILE *file, const char *path,
                            wd_error *err)
{
    char line[MAX_LINE + 1];
    for (wd_place_of_line place = {path, 1};; place.number++) {
        ssize_t size = read_line(file, line);
        if (size < 0)
            return ferror(file) ? could_not_read(path, WD_INTERNAL, err) : WD_OK;
        if (size > MAX_LINE)
            return wd_fail(err, WD_INVALID_ARGUMENT,
                           "%s:%zu: not a head: longer than %d bytes", path,
                           place.number, MAX_LINE);
        WD_TRY(take_line(witness, line, (size_t)size, &place, err));
    }
}

static wd_status read_file(wd_witness *witness, const char *path, wd_error *err)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return could_not_read(path, WD_PERMISSION_DENIED, err);
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
        return could_not_read(path, WD_PERMISSION_DENIED, err);
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
    if (S_ISDIR(st.st_mode))
        return read_dir(witness, path, err);
    if (!S_ISREG(st.st_mode)) /* a device or a pipe may never end */
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "witness %s: neither a file nor a folder: copy it to a file",
                       path);
    return read_file(witness, path, err);
}
