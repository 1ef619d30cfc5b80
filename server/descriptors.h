/* descriptors.h - what the limit on open files leaves for connections, and whose.
 *
 *     limit = the gate's own + handshakes under way + connections let in
 *
 * The handshakes have theirs apart, so that whoever is let in already takes none from
 * those who come. Of the connections a principal may have a quarter, and never more than
 * are free beside them (server/peer.h): where n principals take all they can at once, one
 * part in n + 1 is left; one after the other, each leaves half to those who come next.
 *
 * Threads: any.  Owns: nothing. */
#ifndef WD_SERVER_DESCRIPTORS_H
#define WD_SERVER_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WD_FILES_OWN   128U /* store, queues, NNG, the job's socket: about 60, and room */
#define WD_FILES_LEAST 256U /* with less a gate does not start */

typedef struct wd_files {
    uint64_t limit;             /* RLIMIT_NOFILE */
    uint32_t half_open;         /* handshakes, as engine.h has it */
    uint32_t half_open_leaving; /* likewise */
    uint64_t connections;       /* let in, of all principals together */
} wd_files;

/* What so many descriptors are for. */
wd_files wd_files_plan(uint64_t limit);

/* The soft limit becomes the hard one, if that may be; what the limit is then. */
uint64_t wd_files_raise(void);

/* The hard limit, which a start would take. */
uint64_t wd_files_hard(void);

/* What there is, in words, and the cure where a principal can't have the
 * `per_principal` connections of the settings: then false. */
bool wd_files_tell(uint64_t limit, uint64_t per_principal, char *text, size_t size);

#endif
