"""audited_worker PROFILE SECONDS - calls on record and calls that are not, by turns.

Prints one JSON object: of each method, how long its calls took, in ms.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from tests.support.raw_client import RawClient

METHODS = {"WhoAmI": "/warded.v1.Token/WhoAmI", "Check": "/warded.v1.Health/Check"}


def main() -> None:
    """Over one connection."""
    took: dict[str, list[float]] = {name: [] for name in METHODS}
    end = time.monotonic() + float(sys.argv[2])
    with RawClient(Path(sys.argv[1])) as raw:
        while time.monotonic() < end:
            for name, method in METHODS.items():
                began = time.perf_counter()
                reply = raw.call(method)
                took[name].append((time.perf_counter() - began) * 1e3)
                if reply.code != 0:
                    sys.exit(f"{method}: {reply.message}")
    print(json.dumps(took))


main()
