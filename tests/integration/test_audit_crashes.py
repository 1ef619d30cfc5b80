"""kill -9 while rows are written, sealed and deleted: nothing acknowledged is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.gate import program
from tests.support.store import Store, killed_after

LONG = bool(os.environ.get("WARDED_LONG"))
KILLS = 2000 if LONG else 70
MOST_KILLS = 10 * KILLS
SEGMENT_BYTES = "30000"  # some 180 rows


def segments(store: Store) -> list[str]:
    """The names of the sealed ones."""
    return sorted(p.name for p in (store.path / "audit").glob("*-*.db"))


@pytest.mark.limit(3600 if LONG else 180)
def test_claim_09_kill_9_while_sealing_loses_no_row(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    heads = tmp_path / "heads"
    heads.touch()
    command = [str(program("store_rows")), str(store.path), "run", SEGMENT_BYTES]
    number = 0
    while number < KILLS or len(segments(store)) < 5:
        more = 1 + number // KILLS  # on a slow machine sealing takes more of them
        lines = (10 + 61 * number % 180) * more
        assert killed_after(command, heads, lines) >= lines, "it ended by itself"
        number += 1
        assert number < MOST_KILLS, segments(store)
    report = store.json("audit", "verify", "--witness", str(heads))
    assert report["ok"]
    assert report["witnessed"] == len(heads.read_text().splitlines())
    store.rows("seal")
    assert store.json("audit", "verify", "--witness", str(heads))["ok"]
