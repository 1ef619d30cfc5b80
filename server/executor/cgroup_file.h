/* cgroup_file.h - the small files that cgroups are made of.
 *
 * Threads: any.  Owns: nothing. For cgroup.c and cgroup_find.c. */
#ifndef WD_EXECUTOR_CGROUP_FILE_H
#define WD_EXECUTOR_CGROUP_FILE_H

#include "server/executor/layer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Write `text` to folder/name. false: errno. */
bool wd_cgroup_file_write(const char *folder, const char *name, const char *text);

/* Read folder/name, at most size - 1 bytes and a NUL. false: errno. */
bool wd_cgroup_file_read(const char *folder, const char *name, char *ret_text,
                         size_t size);

/* The number behind `key` in folder/name ("oom_kill 3"); `key` NULL: the file is the
 * number. 0 when it is not there. */
uint64_t wd_cgroup_file_number(const char *folder, const char *name, const char *key);

/* A whole file of up to 4 MiB; the caller frees it. NULL: errno. */
char *wd_cgroup_file_all(const char *path);

/* Make a folder; one that is there serves. false: errno. */
bool wd_cgroup_file_dir(const char *path);

#endif
