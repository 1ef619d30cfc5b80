/* places.h - where Warded keeps things: the system's places, or all under one home.
 *
 *     system                     --home DIR
 *     /etc/warded/warded.yaml    DIR/warded.yaml
 *     /var/lib/warded/ca         DIR/state/ca       root 0700: the CA's key
 *     /var/lib/warded/gate       DIR/state/gate     root:USER 0750: key, digest.key
 *     /var/lib/warded/store      DIR/state/store    USER 0700: store.db, lock, reserve
 *     /run/warded                DIR/run            root:USER 01770: ctl.sock, address
 *     /etc/warded/profile        DIR/profile        root 0755: profiles made by `profile`
 *
 * Threads: any.  Owns: its strings.  Source: docs/operations.md, "Places". */
#ifndef WD_SERVER_PLACES_H
#define WD_SERVER_PLACES_H

#include "proto/c/cleanup.h"
#include "proto/c/status.h"

/* Absolute paths without a trailing slash. */
typedef struct wd_places {
    char *home;        /* NULL: the system's places */
    char *config_file; /* .../warded.yaml */
    char *state_dir;
    char *ca_dir;
    char *gate_dir;
    char *store_dir; /* the setting store.path replaces it */
    char *run_dir;
    char *profile_dir;
} wd_places;

/* Name every place; makes and opens nothing. `home` NULL: the system's places; else a
 * folder, made absolute against the working directory.
 * Errors: INVALID_ARGUMENT home is empty or longer than the system allows
 *         INTERNAL         out of memory, or the working directory is gone */
WD_MUST_USE wd_status wd_places_init(wd_places *places, const char *home,
                                     wd_error *err);

/* Free what wd_places_init made; also of a zeroed or half-built one. */
void wd_places_done(wd_places *places);

/* "DIR/NAME" in memory that the caller frees; NULL when memory is out. */
WD_MUST_USE char *wd_path_join(const char *dir, const char *name);

/* First folder on the way to `path` (its parents, not itself) which `uid`, in group
 * `gid`, may not traverse; NULL when all may be. The caller frees it. Judged by modes
 * alone: no ACLs. */
char *wd_path_blocked(const char *path, unsigned uid, unsigned gid);

#endif
