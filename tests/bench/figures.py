"""Figures that have no peer: what was measured, and what it may be."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass

NAME = 60  # its width


@dataclass(frozen=True, slots=True)
class Figure:
    """One of them. `most`, `least`: the goal; None: it has none."""

    name: str
    value: float
    unit: str
    most: float | None = None
    least: float | None = None

    @property
    def goal(self) -> str:
        """In words, and whether it is met; nothing when there is none."""
        wanted = [f"at most {self.most:g}"] if self.most is not None else []
        wanted += [f"at least {self.least:g}"] if self.least is not None else []
        if not wanted:
            return ""
        return f"{' and '.join(wanted)}: {'met' if self.is_met() else 'MISSED'}"

    def is_met(self) -> bool:
        """Whether the value is within the goal."""
        low = self.least is None or self.value >= self.least
        return low and (self.most is None or self.value <= self.most)


@dataclass(frozen=True, slots=True)
class Figures:
    """All of one benchmark."""

    bench: str
    figures: Sequence[Figure]
    notes: Sequence[str] = ()

    def print(self) -> None:
        """The table and the notes."""
        print(f"\n{self.bench}")
        for one in self.figures:
            value = f"{one.value:.5g}"
            print(f"{one.name:{NAME}} {value:>10} {one.unit:6} {one.goal}".rstrip())
        for note in self.notes:
            print(f"note: {note}")

    def json(self) -> str:
        """One JSON object a line."""
        return "".join(
            json.dumps({"bench": self.bench, **dataclasses.asdict(one)}) + "\n"
            for one in self.figures
        )

    def is_good(self) -> bool:
        """Whether each goal is met."""
        return all(one.is_met() for one in self.figures)
