"""verify: the trail read and hashed, beside mbedtls_sha256 over the very same bytes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.bench import place
from tests.bench.report import Goal, Report
from tests.bench.rounds import Contender, Turn, compete

ROWS = 200_000
PROGRAM = place.RELEASE / "bin/bench_trail"
BARE = "mbedtls_sha256, nothing else"
ALONE = "Warded, one thread, by the clock"
TIMES_BARE = 1 / 1.5
CORES = os.cpu_count() or 1
ONE, ALL = "1 core", f"{CORES} cores"
WHOLE = f"whole, {CORES}"
CLOCK_ALONE, CPU_ALONE, EVERY_CORE = "-1", "1", "0"


def run(*, quick: bool) -> Report:
    """Measure on a trail of its own."""
    seconds = 1.0 if quick else 3.0
    with tempfile.TemporaryDirectory(prefix="warded-bench-") as folder:
        store = str(Path(folder) / "store")
        place.quietly([PROGRAM, store, "fill", str(ROWS)])
        outcomes = compete(contenders(store, seconds))
    goals = [Goal(ONE, BARE, TIMES_BARE), Goal(ALL, BARE, TIMES_BARE)]
    if CORES > 1:
        goals.append(Goal(ALL, ALONE, 0.75 * CORES))
    notes = [
        f"{ROWS} rows a pass, half of them sealed; /s: rows; p50, p99: whole passes",
        "the bytes are the same: each row's are hashed beforehand, and compared",
        "1 core: by the time of the processor; else by the clock",
        "whole: tokens, pages and indexes of each file too, which bare hashing has not",
    ]
    return Report("verify", outcomes, goals, notes)


def contenders(store: str, seconds: float) -> list[Contender]:
    """Rows on one core, on all, and all that `tokctl audit verify` looks at."""

    def turn(kind: str, threads: str) -> Callable[[], Turn]:
        words: list[str | Path] = [PROGRAM, store, kind, str(seconds), threads]
        return lambda: place.take_turn(words)

    return [
        Contender(ONE, "Warded", turn("rows", CPU_ALONE), ours=True),
        Contender(ONE, BARE, turn("sha", CPU_ALONE)),
        Contender(ALL, "Warded", turn("rows", EVERY_CORE), ours=True),
        Contender(ALL, BARE, turn("sha", EVERY_CORE)),
        Contender(ALL, ALONE, turn("rows", CLOCK_ALONE)),
        Contender(WHOLE, "Warded", turn("whole", EVERY_CORE), ours=True),
        Contender(WHOLE, BARE, turn("sha", EVERY_CORE)),
    ]
