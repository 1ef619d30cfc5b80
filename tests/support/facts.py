"""The table that `warded check` prints."""

from __future__ import annotations

import re

from tests.support.gate import Done


def facts(done: Done) -> dict[str, str]:
    """Name to verdict and text."""
    lines = (
        re.match(r"(ok|warn|FAIL|-) +(.{26}) (.*)", x) for x in done.stdout.split("\n")
    )
    return {m.group(2).strip(): f"{m.group(1)} {m.group(3)}" for m in lines if m}


def failed(done: Done) -> list[str]:
    """The names of what does not hold."""
    return [name for name, verdict in facts(done).items() if verdict[:5] == "FAIL "]
