#include "store/wal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "store/internal.h"

static bool is_large(const wd_store *store)
{
    WD_AUTO(wd_text) *path = NULL;
    struct stat file = {.st_size = 0};

    if (asprintf(&path, "%s/store.db-wal", store->place.dir) < 0)
        return false;
    return stat(path, &file) == 0 && file.st_size > (off_t)WD_WAL_BYTES;
}

/* With SQLite's patience at 0: the writer's other jobs are not to wait for a reader. */
static void cut_back(sqlite3 *db)
{
    (void)sqlite3_busy_timeout(db, 0);
    (void)sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    (void)sqlite3_busy_timeout(db, WD_STORE_BUSY_MS);
}

void wd_wal_tidy(wd_store *store)
{
    bool large = is_large(store);

    if (large) {
        cut_back(store->db);
        large = is_large(store);
    }
    atomic_store(&store->wal_large, large);
}

bool wd_store_wal_large(const wd_store *store)
{
    return atomic_load(&store->wal_large);
}
