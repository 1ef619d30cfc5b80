"""The states of the model of tokens (tests/support/token_model.py)."""

from __future__ import annotations

from typing import NamedTuple

START = 1  # the hour in which the family is issued
TTL = 2  # hours that a generation lives; an overlap is one hour
FAMILY, CHILD = 0, 1

Pair = tuple[int, int]


class Gen(NamedTuple):
    """A generation."""

    expires: int
    retires: int = 0  # 0: it is the newest
    revoked: bool = False

    def why(self, now: int) -> str:
        """What a call with it is told."""
        if self.revoked:
            return "TOKEN_REVOKED"
        if self.retires and now >= self.retires:
            return "TOKEN_RETIRED"
        return "TOKEN_EXPIRED" if now >= self.expires else "OK"


class Side(NamedTuple):
    """What the disk has, or memory."""

    gens: tuple[Gen, ...]
    reserved: Pair = (0, 0)


class Work(NamedTuple):
    """A change under way."""

    what: str
    after: Side  # what the disk will have
    before: Side  # what memory had
    durable: bool = False


class Kept(NamedTuple):
    """The time that the disk knows."""

    now: int = START
    behind: int = 0  # as the wall clock then was
    here: bool = True  # in this life of the machine


class Ledger(NamedTuple):
    """What the world was told."""

    told: tuple[Gen, ...]
    ended: frozenset[int] = frozenset()
    granted: Pair = (0, 0)


class State(NamedTuple):
    """All of it."""

    disk: Side
    memory: Side
    ledger: Ledger
    now: int = START
    behind: int = 0  # how far the wall clock is
    kept: Kept = Kept()
    spent: Pair = (0, 0)
    waiting: Pair = (0, 0)  # calls with the family's own token, with the child's
    work: Work | None = None


class Step(NamedTuple):
    """What was done, what was answered, what came of it."""

    action: str
    outcome: str
    after: State


def replaced(gens: tuple[Gen, ...], at: int, gen: Gen) -> tuple[Gen, ...]:
    return (*gens[:at], gen, *gens[at + 1 :])


def merged(gens: tuple[Gen, ...], held: tuple[Gen, ...]) -> tuple[Gen, ...]:
    """What was revoked in memory alone stays so."""
    return tuple(
        gen._replace(revoked=gen.revoked or (at < len(held) and held[at].revoked))
        for at, gen in enumerate(gens)
    )


def line_of(action: str) -> int:
    return CHILD if action.endswith("c") else FAMILY


def waits(state: State, line: int, change: int) -> State:
    waiting = list(state.waiting)
    waiting[line] += change
    return state._replace(waiting=(waiting[0], waiting[1]))
