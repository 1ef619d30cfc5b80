#include "server/descriptors.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

#include "proto/c/limits.h"

#define HANDSHAKES_PART 4U    /* of what is left they have one part in so many */
#define HALF_OPEN       2048U /* with enough descriptors; see proto/tls/half_open.h */
#define LEAVING_PART    8U    /* as many more as one in so many are about to go */

wd_files wd_files_plan(uint64_t limit)
{
    uint64_t rest = limit > WD_FILES_OWN ? limit - WD_FILES_OWN : 0;
    uint64_t half_open = rest / HANDSHAKES_PART * LEAVING_PART / (LEAVING_PART + 1);

    if (half_open > HALF_OPEN)
        half_open = HALF_OPEN;
    uint64_t leaving = half_open / LEAVING_PART;
    return (wd_files){.limit = limit,
                      .half_open = (uint32_t)half_open,
                      .half_open_leaving = (uint32_t)leaving,
                      .connections = rest - half_open - leaving};
}

/* The least limit under which a principal may have so many connections. */
static uint64_t limit_for(uint64_t per_principal)
{
    const uint64_t wanted = per_principal * WD_SHARES;
    uint64_t limit = WD_FILES_LEAST;

    for (uint64_t has; (has = wd_files_plan(limit).connections) < wanted;)
        limit += wanted - has; /* each brings one at most: never too far */
    return limit;
}

uint64_t wd_files_raise(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return 0;
    rlim_t before = files.rlim_cur;
    files.rlim_cur = files.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_max : before;
}

uint64_t wd_files_hard(void)
{
    struct rlimit files;

    return getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_max : 0;
}

bool wd_files_tell(uint64_t limit, uint64_t per_principal, char *text, size_t size)
{
    wd_files files = wd_files_plan(limit);
    uint64_t share = files.connections / WD_SHARES;

    if (limit >= WD_FILES_LEAST && share >= per_principal) {
        (void)snprintf(text, size,
                       "%" PRIu64 ": %" PRIu64 " connections, %u handshakes", limit,
                       files.connections, files.half_open);
        return true;
    }
    (void)snprintf(
        text, size,
        "the hard limit on open files is %" PRIu64 ": of its %" PRIu64
        " connections a principal may have a quarter, %" PRIu64
        ", not limits.connections_per_principal (%" PRIu64 "); give it %" PRIu64
        " or more (systemd LimitNOFILE=, Docker --ulimit nofile=, ulimit "
        "-Hn), or lower the setting",
        limit, files.connections, share, per_principal, limit_for(per_principal));
    return false;
}
