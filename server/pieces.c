#include "server/pieces.h"

#include "proto/c/cleanup.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#define NAMES_BYTES 300U /* the cure must have room beside them */

static bool is_there(const char *path)
{
    struct stat st;
    return path != NULL && lstat(path, &st) == 0;
}

/* Those that are there, "A, B"; cut where they are too many. */
static void find(const wd_places *places, char ret_names[NAMES_BYTES])
{
    WD_AUTO(wd_text) *admin = wd_path_join(places->profile_dir, "admin");
    const char *const all[] = {places->config_file, places->ca_dir, places->gate_dir,
                               places->store_dir, admin};
    size_t used = 0;
    ret_names[0] = '\0';
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (!is_there(all[i]))
            continue;
        int size = snprintf(ret_names + used, NAMES_BYTES - used, "%s%s",
                            used > 0 ? ", " : "", all[i]);
        if (size < 0 || (size_t)size >= NAMES_BYTES - used)
            return;
        used += (size_t)size;
    }
}

wd_status wd_pieces_refuse(const wd_places *places, wd_error *err)
{
    char names[NAMES_BYTES];
    find(places, names);
    if (names[0] == '\0')
        return WD_OK;
    if (is_there(places->config_file))
        return wd_refuse(err, WD_REASON_CONFLICT,
                         "%s is there already; nothing was overwritten. More "
                         "identities: 'warded profile new'; to begin anew, move it and "
                         "%s away",
                         places->config_file, places->state_dir);
    return wd_refuse(err, WD_REASON_CONFLICT,
                     "%s: there without a configuration %s; nothing was overwritten. A "
                     "killed init leaves such pieces: move them all away, run it again",
                     names, places->config_file);
}
