"""revoke_worker PROFILE ID... - takes tokens back one after another; times in ms.

Prints one JSON object: of each call, until it `holds` and until it is `durable` as the
gate tells, and until it was `answered`.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from warded.v1 import RevokeReply, RevokeRequest

from tests.support.raw_client import RawClient


def main() -> None:
    """All of them, over one connection."""
    holds, durable, answered = [], [], []
    with RawClient(Path(sys.argv[1])) as raw:
        for one in sys.argv[2:]:
            ask = RevokeRequest(ids=[one]).SerializeToString()
            began = time.perf_counter()
            reply = raw.call("/warded.v1.Token/Revoke", ask)
            answered.append((time.perf_counter() - began) * 1e3)
            told = RevokeReply.FromString(reply.payload)
            if told.revoked != 1:
                sys.exit(f"not revoked: {reply.message or told}")
            holds.append(told.took_us / 1e3)
            durable.append(told.durable_us / 1e3)
    print(json.dumps({"holds": holds, "durable": durable, "answered": answered}))


main()
