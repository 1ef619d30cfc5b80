"""kill -9 while rows are written, sealed and deleted: nothing acknowledged is lost."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from tests.support.gate import program
from tests.support.store import Store

KILLS = 2000 if os.environ.get("WARDED_LONG") else 10
MOST_KILLS = 10 * KILLS
SEGMENT_BYTES = "30000"  # some 180 rows


def killed_after(command: list[str], heads: Path, lines: int) -> int:
    """Run it, keep the heads that it acknowledges, kill it after so many."""
    acknowledged = 0
    with (
        heads.open("a") as keep,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer,
    ):
        assert writer.stdout is not None
        for line in writer.stdout:
            keep.write(line if line.endswith("\n") else "")
            acknowledged += 1
            if acknowledged == lines:
                writer.send_signal(signal.SIGKILL)
    return acknowledged


def segments(store: Store) -> list[str]:
    """The names of the sealed ones."""
    return sorted(p.name for p in (store.path / "audit").glob("*-*.db"))


def test_claim_09_kill_9_while_sealing_loses_no_row(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    heads = tmp_path / "heads"
    heads.touch()
    command = [str(program("store_rows")), str(store.path), "run", SEGMENT_BYTES]
    number = 0
    while number < KILLS or len(segments(store)) < 5:
        lines = 100 + 211 * number % 900
        assert killed_after(command, heads, lines) >= lines, "it ended by itself"
        number += 1
        assert number < MOST_KILLS, segments(store)
    report = store.json("audit", "verify", "--witness", str(heads))
    assert report["ok"]
    assert report["witnessed"] == len(heads.read_text().splitlines())
    store.rows("seal")
    assert store.json("audit", "verify", "--witness", str(heads))["ok"]
