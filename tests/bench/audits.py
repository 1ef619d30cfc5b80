"""audit: rows a second beside bare SQLite, what a row costs, how fast questions are.

A row counts when it is durable. `bare` is SQLite alone: the table and the indexes of a
store, as many rows in a commit, no chain of hashes, nothing that waits for anybody.
"""

from __future__ import annotations

import shutil
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

from tests.bench import place
from tests.bench.figures import Figure, Figures
from tests.bench.report import Goal, Report
from tests.bench.rounds import Contender, PeerError, Turn, compete

DEPTHS = (1, 16, 64, 1024)
OURS, PEER = "Warded, the gate's writer", "bare SQLite"
PROGRAM = place.RELEASE / "bin/bench_audit"
FILLER = place.RELEASE / "bin/bench_trail"
ASKER = place.RELEASE / "bin/bench_ask"
WORKER = "tests.bench.audited_worker"
KEPT, KEPT_QUICK = 10_000_000, 500_000  # rows that are asked about
OLDER = 400_000  # rows that are sealed and pruned beside calls
PACE = 500  # rows a second: of 250 calls
LAST_MS, FOUND_MS = 20.0, 100.0
FILL_S = 1800.0


def rows(*, quick: bool) -> Report:
    """The product's writer beside SQLite."""
    seconds = 2.0 if quick else 6.0
    with place.a_folder() as folder:

        def turn(verb: str, depth: int) -> Turn:
            store = folder / "store"
            shutil.rmtree(store, ignore_errors=True)
            store.mkdir(mode=0o700)
            return place.take_turn([PROGRAM, verb, store, str(depth), str(seconds)])

        outcomes = compete(contenders(turn))
    goals = [Goal(case(depth), PEER, 0.8) for depth in DEPTHS]
    return Report("audit", outcomes, goals, ["a row, durable; client us: of a row"])


def contenders(turn: Callable[[str, int], Turn]) -> list[Contender]:
    """Both, at each depth."""
    found = []
    for depth in DEPTHS:

        def of(verb: str, depth: int = depth) -> Callable[[], Turn]:
            return lambda: turn(verb, depth)

        found += [
            Contender(case(depth), OURS, of("product"), ours=True),
            Contender(case(depth), PEER, of("bare")),
        ]
    return found


def case(depth: int) -> str:
    """Its name."""
    return f"{depth} in flight"


def costs(*, quick: bool) -> Figures:
    """What the trail costs others, and what it is asked."""
    seconds = 3.0 if quick else 10.0
    with place.a_folder() as folder:
        figures = [
            *added(seconds),
            *archiving(folder / "older", seconds),
            *answers(folder / "kept", KEPT_QUICK if quick else KEPT),
        ]
    return Figures("audit", figures)


def added(seconds: float) -> list[Figure]:
    """A call on record beside one that is not, by turns, over one connection."""
    with place.a_gate("observe:python_code") as (_, profile):
        told = place.ask([sys.executable, "-m", WORKER, profile, f"{seconds}"], FILL_S)
    on, off = (statistics.median(told[name]) for name in ("WhoAmI", "Check"))
    return [
        Figure("a call on record, p50", on, "ms"),
        Figure("a call that is not (Health.Check), p50", off, "ms"),
        Figure("the record adds", on - off, "ms"),
    ]


def filled(store: Path, rows_: int) -> None:
    """A store with so many rows, half of them sealed."""
    print(f"writing {rows_} rows", flush=True)
    store.mkdir(mode=0o700)
    place.quietly([FILLER, store, "fill", str(rows_)])


def archiving(store: Path, seconds: float) -> list[Figure]:
    """How long a row takes, alone, and while older ones are sealed and pruned."""
    filled(store, OLDER)
    pace = str(PACE), str(seconds)
    quiet = place.take_turn([PROGRAM, "paced", store, *pace])
    busy = place.take_turn([PROGRAM, "pruned", store, *pace])
    if not list(store.with_name(f"{store.name}.exports").iterdir()):
        raise PeerError("nothing was pruned meanwhile")
    moved = (busy.p99_us - quiet.p99_us) / quiet.p50_us
    return [
        Figure("a row durable, p50: a commit", quiet.p50_us / 1e3, "ms"),
        Figure("a row durable, p99", quiet.p99_us / 1e3, "ms"),
        Figure("beside sealing and pruning, p99", busy.p99_us / 1e3, "ms"),
        Figure("sealing and pruning move the p99 by", moved, "commits", most=1.0),
    ]


def answers(store: Path, count: int) -> list[Figure]:
    """Of a trail of so many rows."""
    filled(store, count)
    told = place.ask([ASKER, store], FILL_S)
    return [
        Figure(
            f"{name}: {found} of {told['rows']} rows",
            ms,
            "ms",
            most=LAST_MS if name == "the last 100" else FOUND_MS,
        )
        for name, found, ms in told["asked"]
    ]
