#include "clients/c/process.h"

#include <stdatomic.h>
#include <unistd.h>

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): as NNG's own */
static atomic_int claimed_by;

bool wd_process_claim(void)
{
    int none = 0;
    const int mine = getpid();
    return atomic_compare_exchange_strong(&claimed_by, &none, mine) || none == mine;
}
