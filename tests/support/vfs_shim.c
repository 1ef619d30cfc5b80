#include "tests/support/vfs_shim.h"

#include <string.h>

typedef struct shim_file {
    sqlite3_file base; /* first */
    wd_shim *shim;
    int open_flags;
    sqlite3_file *real; /* behind this struct */
} shim_file;

static shim_file *file_of(sqlite3_file *file)
{
    return (shim_file *)file;
}

static sqlite3_file *real_of(sqlite3_file *file)
{
    return file_of(file)->real;
}

static sqlite3_vfs *real_vfs(sqlite3_vfs *vfs)
{
    return vfs->pAppData;
}

/* --- telling and failing ---------------------------------------------------------- */

static void tell(const shim_file *file, wd_shim_event event)
{
    event.open_flags = file->open_flags;
    if (file->shim->event != NULL)
        file->shim->event(file->shim->arg, &event);
}

static bool must_fail(wd_shim *shim, wd_shim_op op)
{
    int left = atomic_load(&shim->fail_in[op]);
    if (left == 0)
        return false;
    if (left > 1) {
        atomic_store(&shim->fail_in[op], left - 1);
        return false;
    }
    if (atomic_fetch_sub(&shim->fail_more, 1) <= 0) { /* that was the last */
        atomic_store(&shim->fail_more, 0);
        atomic_store(&shim->fail_in[op], 0);
    }
    return true;
}

static bool starts(const shim_file *file, wd_shim_event *event)
{
    event->when = WD_SHIM_BEFORE;
    (void)atomic_fetch_add(&file->shim->count[event->op], 1);
    tell(file, *event);
    return !must_fail(file->shim, event->op);
}

static int ends(const shim_file *file, wd_shim_event *event, int code)
{
    event->when = WD_SHIM_AFTER;
    event->code = code;
    tell(file, *event);
    return code;
}

/* --- files ------------------------------------------------------------------------ */

static int shim_write(sqlite3_file *file, const void *data, int size,
                      sqlite3_int64 offset)
{
    wd_shim_event event = {.op = WD_SHIM_WRITE, .offset = offset, .size = size};
    sqlite3_file *real = real_of(file);
    bool go = starts(file_of(file), &event);
    if (!go && atomic_load(&file_of(file)->shim->fail_half))
        (void)real->pMethods->xWrite(real, data, size / 2, offset);
    int code = go ? real->pMethods->xWrite(real, data, size, offset)
                  : atomic_load(&file_of(file)->shim->fail_code);
    return ends(file_of(file), &event, code);
}

static int shim_sync(sqlite3_file *file, int flags)
{
    wd_shim_event event = {.op = WD_SHIM_SYNC};
    sqlite3_file *real = real_of(file);
    bool go = starts(file_of(file), &event);
    int code = go ? real->pMethods->xSync(real, flags)
                  : atomic_load(&file_of(file)->shim->fail_code);
    return ends(file_of(file), &event, code);
}

static int shim_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    wd_shim_event event = {.op = WD_SHIM_TRUNCATE, .offset = size};
    sqlite3_file *real = real_of(file);
    bool go = starts(file_of(file), &event);
    int code = go ? real->pMethods->xTruncate(real, size)
                  : atomic_load(&file_of(file)->shim->fail_code);
    return ends(file_of(file), &event, code);
}

static int shim_close(sqlite3_file *file)
{
    return real_of(file)->pMethods->xClose(real_of(file));
}

static int shim_read(sqlite3_file *file, void *data, int size, sqlite3_int64 offset)
{
    wd_shim *shim = file_of(file)->shim;
    (void)atomic_fetch_add(&shim->count[WD_SHIM_READ], 1);
    if (must_fail(shim, WD_SHIM_READ))
        return atomic_load(&shim->fail_code);
    return real_of(file)->pMethods->xRead(real_of(file), data, size, offset);
}

static int shim_file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return real_of(file)->pMethods->xFileSize(real_of(file), size);
}

static int shim_lock(sqlite3_file *file, int lock)
{
    return real_of(file)->pMethods->xLock(real_of(file), lock);
}

static int shim_unlock(sqlite3_file *file, int lock)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), lock);
}

static int shim_check_lock(sqlite3_file *file, int *result)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), result);
}

static int shim_control(sqlite3_file *file, int op, void *arg)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), op, arg);
}

static int shim_sector_size(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int shim_traits(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int shim_shm_map(sqlite3_file *file, int page, int size, int extend,
                        void volatile **memory)
{
    return real_of(file)->pMethods->xShmMap(real_of(file), page, size, extend, memory);
}

static int shim_shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
    return real_of(file)->pMethods->xShmLock(real_of(file), offset, n, flags);
}

static void shim_shm_barrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int shim_shm_unmap(sqlite3_file *file, int delete_it)
{
    return real_of(file)->pMethods->xShmUnmap(real_of(file), delete_it);
}

static const sqlite3_io_methods shim_methods = {
    .iVersion = 2, /* with shared memory, without mmap */
    .xClose = shim_close,
    .xRead = shim_read,
    .xWrite = shim_write,
    .xTruncate = shim_truncate,
    .xSync = shim_sync,
    .xFileSize = shim_file_size,
    .xLock = shim_lock,
    .xUnlock = shim_unlock,
    .xCheckReservedLock = shim_check_lock,
    .xFileControl = shim_control,
    .xSectorSize = shim_sector_size,
    .xDeviceCharacteristics = shim_traits,
    .xShmMap = shim_shm_map,
    .xShmLock = shim_shm_lock,
    .xShmBarrier = shim_shm_barrier,
    .xShmUnmap = shim_shm_unmap,
};

/* --- the VFS ---------------------------------------------------------------------- */

static int shim_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file,
                     int flags, int *out_flags)
{
    shim_file *own = file_of(file);
    *own = (shim_file){.shim = (wd_shim *)vfs, .open_flags = flags};
    own->real = (sqlite3_file *)(own + 1);
    int code = real_vfs(vfs)->xOpen(real_vfs(vfs), name, own->real, flags, out_flags);
    own->base.pMethods = own->real->pMethods != NULL ? &shim_methods : NULL;
    return code;
}

static int shim_delete(sqlite3_vfs *vfs, const char *name, int sync_dir)
{
    return real_vfs(vfs)->xDelete(real_vfs(vfs), name, sync_dir);
}

static int shim_access(sqlite3_vfs *vfs, const char *name, int flags, int *result)
{
    return real_vfs(vfs)->xAccess(real_vfs(vfs), name, flags, result);
}

static int shim_full_name(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
    return real_vfs(vfs)->xFullPathname(real_vfs(vfs), name, size, out);
}

static int shim_random(sqlite3_vfs *vfs, int size, char *out)
{
    return real_vfs(vfs)->xRandomness(real_vfs(vfs), size, out);
}

static int shim_sleep(sqlite3_vfs *vfs, int microseconds)
{
    return real_vfs(vfs)->xSleep(real_vfs(vfs), microseconds);
}

static int shim_time(sqlite3_vfs *vfs, double *now)
{
    return real_vfs(vfs)->xCurrentTime(real_vfs(vfs), now);
}

static int shim_last_error(sqlite3_vfs *vfs, int size, char *text)
{
    return real_vfs(vfs)->xGetLastError(real_vfs(vfs), size, text);
}

int wd_shim_register(wd_shim *shim, const char *name)
{
    sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    shim->vfs = (sqlite3_vfs){
        .iVersion = 1,
        .szOsFile = (int)sizeof(shim_file) + real->szOsFile,
        .mxPathname = real->mxPathname,
        .zName = name,
        .pAppData = real,
        .xOpen = shim_open,
        .xDelete = shim_delete,
        .xAccess = shim_access,
        .xFullPathname = shim_full_name,
        .xRandomness = shim_random,
        .xSleep = shim_sleep,
        .xCurrentTime = shim_time,
        .xGetLastError = shim_last_error,
    };
    return sqlite3_vfs_register(&shim->vfs, 0);
}

void wd_shim_unregister(wd_shim *shim)
{
    (void)sqlite3_vfs_unregister(&shim->vfs);
}
