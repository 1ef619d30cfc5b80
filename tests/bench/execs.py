"""exec: print("hello") through the whole path, and the ways that others go."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.bench import place, verl_way
from tests.bench.report import Goal, Report
from tests.bench.rounds import Contender, Turn, compete

DEPTHS = (1, 8)
PLAIN = "python3 -I -c"
JAILED = "verl-tool's way, firejail"
UNJAILED = "verl-tool's way, no firejail"
REAL = "verl-tool itself"

Take = Callable[[], Turn]
Turner = Callable[[str, int], Turn]


def run(*, quick: bool) -> Report:
    """Measure everyone."""
    why = place.need_packages("firejail")
    active = not why and verl_way.is_firejail_active()
    jailed = f"{JAILED} {'active' if active else 'NOT active'}"
    seconds = 3.0 if quick else 8.0
    with place.a_gate("observe:python_code") as (gate, profile):

        def turn(kind: str, depth: int) -> Turn:
            server = gate.pid if kind == "warded" else 0
            program = ["python3", "-m", "tests.bench.exec_worker", kind]
            return place.take_turn(
                [*program, str(depth), str(seconds), profile], server
            )

        outcomes = compete(contenders(turn, jailed, why))
    notes = [
        "cpu: client us + server us per action; all of it where there is no server",
        "Warded records each action durably, twice; the others record nothing",
    ]
    return Report("exec", outcomes, [Goal(case(8), jailed, 1.0)], notes)


def contenders(turn: Turner, jailed: str, why: str) -> list[Contender]:
    """Who takes part. `why`: firejail can't be had."""
    found = []
    for depth in DEPTHS:

        def of(kind: str, depth: int = depth) -> Take:
            return lambda: turn(kind, depth)

        found += [
            Contender(case(depth), "Warded (cold slot)", of("warded"), ours=True),
            Contender(case(depth), PLAIN, of("plain")),
            Contender(case(depth), jailed, of("firejail"), missing=why),
            Contender(case(depth), UNJAILED, of("bare")),
            Contender(case(depth), REAL, of("verl-tool"), missing=real_missing()),
        ]
    return found


def case(depth: int) -> str:
    """Its name."""
    return f"{depth} in flight"


def real_missing() -> str:
    """Why verl-tool's own code does not take part, or nothing."""
    folder = os.environ.get("VERL_TOOL_DIR", "")
    if not folder:
        return "set VERL_TOOL_DIR to a checkout"
    return "" if Path(folder).is_dir() else f"VERL_TOOL_DIR: no folder {folder}"
