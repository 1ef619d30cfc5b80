#include "server/crowd.h"

#include <stdbool.h>

uint64_t wd_crowd_quarter(uint64_t in_flight)
{
    return (in_flight + WD_GATE_RESERVED) / 4;
}

uint64_t wd_crowd_free(uint64_t all, uint64_t taken, uint64_t few)
{
    uint64_t most = all - all / WD_CROWD_KEPT;
    uint64_t share = most > taken ? most - taken : 0;

    return share > few ? share : few;
}

uint64_t wd_crowd_share(const wd_crowd *crowd)
{
    return wd_crowd_free(crowd->in_flight, crowd->placed, WD_GATE_FEW);
}

wd_room wd_crowd_judge(const wd_crowd *crowd)
{
    bool last = crowd->busy > crowd->contexts - WD_GATE_LAST;

    if (last && crowd->own_busy > WD_GATE_FEW)
        return WD_ROOM_LAST;
    if (crowd->placed > crowd->in_flight)
        return WD_ROOM_FULL;
    if (crowd->own_busy > wd_crowd_quarter(crowd->in_flight))
        return WD_ROOM_QUOTA;
    return crowd->own_placed > wd_crowd_share(crowd) ? WD_ROOM_SHARE : WD_ROOM;
}
