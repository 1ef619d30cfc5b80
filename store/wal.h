/* wal.h - the write-ahead log: cut back once nobody reads what is in it.
 *
 * While another process reads store.db in one transaction, nothing that was written since
 * can leave the log, and it grows.
 *
 * Threads: wd_wal_tidy is the writer's; wd_store_wal_large any.  Owns: nothing. */
#ifndef WD_STORE_WAL_H
#define WD_STORE_WAL_H

#include "store/store.h"

#define WD_WAL_BYTES (64U << 20) /* above it, it is cut back, and told of */

/* Tries to write the log back and cut it, when it is large; waits for no reader. */
void wd_wal_tidy(wd_store *store);

/* It was large, and somebody read it, when it was looked at last. */
bool wd_store_wal_large(const wd_store *store);

#endif
