"""Turns: every contender once in each round, and the median of its rounds."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Turn:
    """What one contender did in one turn, or the median of its turns."""

    rate: float  # operations a second
    p50_us: float
    p99_us: float
    client_us: float  # processor time per operation
    server_us: float  # 0: there is no server


@dataclass(frozen=True, slots=True)
class Contender:
    """Who takes part in a case. `missing`: why it can't, for the table."""

    case: str
    name: str
    turn: Callable[[], Turn] | None
    ours: bool = False
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A contender and what became of it. `result`: None when it is missing."""

    contender: Contender
    result: Turn | None
    problem: str


class PeerError(Exception):
    """A contender could not take its turn; the message says why."""


def compete(contenders: Sequence[Contender], rounds: int = ROUNDS) -> list[Outcome]:
    """Interleaved: a machine that slows down slows down all of them."""
    turns: dict[Contender, list[Turn]] = {c: [] for c in contenders}
    problems = {c: c.missing for c in contenders}
    for number in range(1, rounds + 1):
        load = Path("/proc/loadavg").read_text().split()[0]
        print(f"round {number} of {rounds}, load {load}", flush=True)
        for one in contenders:
            if not problems[one]:
                problems[one] = take_turn(one, turns[one])
    return [Outcome(c, median(turns[c]), problems[c]) for c in contenders]


def take_turn(one: Contender, turns: list[Turn]) -> str:
    """One more turn; or why there can be none."""
    if one.turn is None:
        return ""
    try:
        turns.append(one.turn())
    except PeerError as error:
        if one.ours:
            raise
        return str(error)
    return ""


def median(turns: Sequence[Turn]) -> Turn | None:
    """Each figure's median; None of no turns."""
    if not turns:
        return None
    names = ("rate", "p50_us", "p99_us", "client_us", "server_us")
    return Turn(*(statistics.median(getattr(t, name) for t in turns) for name in names))
