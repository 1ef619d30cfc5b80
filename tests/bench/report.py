"""The table for people and the lines for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.bench.rounds import Outcome, Turn

HEAD = ("case", "contender", "/s", "p50 ms", "p99 ms", "client us", "server us", "x")
WIDTHS = (13, 44, 9, 9, 9, 10, 10, 7)


@dataclass(frozen=True, slots=True)
class Goal:
    """Ours has to be `times` as fast as `peer` in `case`."""

    case: str
    peer: str
    times: float


@dataclass(frozen=True, slots=True)
class Line:
    """One comparison; `ratio` above 1: we are ahead."""

    case: str
    unit: str
    ours: float
    peer: str
    peer_value: float
    ratio: float


@dataclass(frozen=True, slots=True)
class Report:
    """All of one benchmark. In each case the contender of ours comes first."""

    bench: str
    outcomes: Sequence[Outcome]
    goals: Sequence[Goal]
    notes: Sequence[str] = field(default=())

    def print(self) -> None:
        """The table, what is missing, and the goals."""
        print(f"\n{self.bench}: medians; x above 1: Warded is ahead of that peer")
        print(_row(HEAD))
        last = ""
        for one in self.outcomes:
            case = one.contender.case
            print(_row((case if case != last else "", *self._cells(one))))
            last = case
        for note in self.notes:
            print(f"note: {note}")
        for goal in self.goals:
            print(self._judge(goal)[1])

    def json(self) -> str:
        """One JSON object a line."""
        return "".join(
            json.dumps(
                {
                    "bench": self.bench,
                    "case": line.case,
                    "unit": line.unit,
                    "ours": round(line.ours, 3),
                    "peer": line.peer,
                    "peer_value": round(line.peer_value, 3),
                    "ratio": round(line.ratio, 3),
                }
            )
            + "\n"
            for line in self.lines()
        )

    def is_good(self) -> bool:
        """Whether each goal is met; one that can't be judged is not."""
        return all(self._judge(goal)[0] for goal in self.goals)

    def lines(self) -> Iterator[Line]:
        """Every peer that took part, in every unit."""
        for one in self.outcomes:
            ours, peer = self._ours(one.contender.case), one.result
            if one.contender.ours or ours is None or peer is None:
                continue
            yield from compare(one.contender.case, one.contender.name, ours, peer)

    def _ours(self, case: str) -> Turn | None:
        found = (
            o.result
            for o in self.outcomes
            if o.contender.case == case and o.contender.ours
        )
        return next(found, None)

    def _cells(self, one: Outcome) -> tuple[str, ...]:
        turn = one.result
        if turn is None:
            return (one.contender.name, f"MISSING: {one.problem}")
        ours = self._ours(one.contender.case)
        own = one.contender.ours or ours is None
        return (
            one.contender.name,
            f"{turn.rate:.1f}" if turn.rate < 1000 else f"{turn.rate:.0f}",
            f"{turn.p50_us / 1000:.3f}",
            f"{turn.p99_us / 1000:.3f}",
            f"{turn.client_us:.1f}",
            f"{turn.server_us:.1f}" if turn.server_us else "-",
            "" if own or ours is None else f"{ours.rate / turn.rate:.2f}",
        )

    def _judge(self, goal: Goal) -> tuple[bool, str]:
        what = f"goal: {goal.case}, {goal.times:g} times {goal.peer}"
        for line in self.lines():
            if (line.case, line.peer, line.unit) == (goal.case, goal.peer, "1/s"):
                met = line.ratio >= goal.times
                return met, f"{what}: {'met' if met else 'MISSED'}, {line.ratio:.2f}"
        why = "; ".join(o.problem for o in self.outcomes if self._is_of(o, goal))
        return False, f"{what}: NOT JUDGED, one of the two is missing: {why}"

    def _is_of(self, one: Outcome, goal: Goal) -> bool:
        """Whether it is one of the two that the goal needs, and was not there."""
        who = one.contender
        needed = who.ours or who.name == goal.peer
        return who.case == goal.case and needed and one.result is None


def compare(case: str, peer: str, ours: Turn, theirs: Turn) -> Iterator[Line]:
    """The figures of two contenders, each as a line."""
    yield Line(case, "1/s", ours.rate, peer, theirs.rate, ours.rate / theirs.rate)
    figures = (
        ("p50 us", ours.p50_us, theirs.p50_us),
        ("p99 us", ours.p99_us, theirs.p99_us),
        ("client cpu us", ours.client_us, theirs.client_us),
        ("server cpu us", ours.server_us, theirs.server_us),
    )
    for unit, mine, other in figures:
        if mine > 0 and other > 0:  # 0: no such side, or too little to be counted
            yield Line(case, unit, mine, peer, other, other / mine)


def _row(cells: Sequence[str]) -> str:
    shown = []
    for number, (cell, width) in enumerate(zip(cells, WIDTHS, strict=False)):
        left = number < 2 or len(cells) < len(WIDTHS)
        shown.append(cell.ljust(width) if left else cell.rjust(width))
    return " ".join(shown).rstrip()
