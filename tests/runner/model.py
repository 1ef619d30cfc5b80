"""The words of the runner: a test has a name and, once run, a result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Protocol

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"

# Lanes at once: one more than there are processors, since many tests mostly wait.
AT_ONCE = (os.cpu_count() or 2) + 1


class Outcome(Enum):
    """How a test ended; a crash, a hang and an empty suite are failures."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Result:
    """One test that ran."""

    name: str
    outcome: Outcome
    seconds: float = 0.0
    output: str = ""
    cpu_s: float = 0.0  # of processors, as far as what it waited for tells


@dataclass(frozen=True, slots=True)
class Lane:
    """Tests that run one after another, beside those of other lanes."""

    title: str
    run: Callable[[], Iterator[Result]]
    helps: bool = False  # an earlier one with what is left of its tests
    alone: bool = False  # beside no other


class Suite(Protocol):
    """One kind of tests."""

    def prepare(self) -> list[Result]:
        """Build what the tests need; failures come back as results."""

    def names(self) -> list[str]:
        """Every test of this kind, in the order of running."""

    def lanes(self, wanted: Sequence[str]) -> list[Lane]:
        """What runs the tests that `wanted` names: a result each, whatever happens."""


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern is a part of the name; no patterns match every name.

    `*` and `?` are wildcards; `[` is itself, since pytest's names hold it.
    """
    globs = [f"*{p.replace('[', '[[]')}*" for p in patterns]
    return not globs or any(fnmatchcase(name, g) for g in globs)


def selected(
    names: Sequence[str], patterns: Sequence[str], also: str = ""
) -> list[str]:
    """Those that a pattern matches; `also`: a word that stands for each of them."""
    return [n for n in names if matches(f"{n} {also}" if also else n, patterns)]


def unmatched(
    suites: Sequence[tuple[Sequence[str], str]], patterns: Sequence[str]
) -> list[str]:
    """The patterns that mean no test: of each suite its names, and `also` as above."""
    return [p for p in patterns if not any(selected(n, [p], a) for n, a in suites)]


def failed(name: str, output: str, seconds: float = 0.0, cpu_s: float = 0.0) -> Result:
    """A failure that says why."""
    return Result(name, Outcome.FAILED, seconds, output, cpu_s)
