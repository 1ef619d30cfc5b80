"""A model of a token's family: what may happen to it, and what must always hold.

What there is
    A family of generations, at most `lives` of them, and maybe a child that was issued
    with it. `disk` is what the database has, `memory` what checks go by: generations
    (when each ends, when its overlap ends, whether it was revoked) and the uses that
    were reserved. `spent` and `waiting` are in memory alone. The ledger is what the
    world outside was told: changes that were acknowledged, tokens whose end was
    answered, uses that were granted.

What happens
    rotate, force, retire, revoke N
        A change, in steps: it is decided, and refused with CONFLICT or BEGUN; nothing
        is written yet. `go` makes it DURABLE: the disk has it, memory not yet. `go`
        again tells memory, and answers. A revocation is in memory before it has BEGUN;
        one that failed goes to disk with whatever is written next. At either place
        the gate may `die`; before a byte is written the write may also `fail` (the disk
        does: AUDIT_UNWRITABLE) or be torn (`tear`: half, and killed).
    call WHO
        Takes a use of the family, and of the child if it is the child's. Without one
        that is reserved it waits; may come in the middle of a change.
    write WHO
        The writer reserves as many as are waited for: a change like the others, in the
        same steps, after which the call tries again.
    ask
        Everybody calls once; whoever is refused has it on record, and the time with it.
    tick, leap, back
        An hour passes; the wall clock alone is set forward, or back. Time goes by the
        highest that the wall ever said, and by the monotonic clock from there.
    stop, die, reboot
        The gate ends well (uses that are left are given back), is killed, or its
        machine is: then the monotonic clock begins anew, and since the time that was
        last kept only the wall clock counts.

What must hold: INVARIANTS in each state that can be reached, and STEPS for each step
(tests/support/token_claims.py). `faults` break the model, in one place each, and are
found (tests/integration/test_token_model.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.support.token_parts import Uses
from tests.support.token_state import (
    CHILD,
    FAMILY,
    START,
    TTL,
    Gen,
    Ledger,
    Side,
    State,
    Step,
    Work,
    line_of,
    merged,
    replaced,
    waits,
)


@dataclass(frozen=True)
class Model(Uses):
    """The whole of it."""

    def first(self) -> State:
        """Issued, and told so."""
        gens = (Gen(START + TTL),)
        return State(Side(gens), Side(gens), Ledger(gens))

    def words(self) -> str:
        """What makes the same family of real tokens."""
        child = f" {self.uses[CHILD]}" if self.child else ""
        return f"new {self.uses[FAMILY]}{child}"

    def steps(self, state: State) -> Iterator[Step]:
        """All that can come next, up to the last hour."""
        return (step for step in self._steps(state) if step.after.now <= self.hours)

    def _steps(self, state: State) -> Iterator[Step]:
        if state.work:
            yield from self._under_way(state, state.work)
            yield from self._calls(state)
            return
        yield from self._changes(state)
        yield from self._calls(state)
        yield from self._writes(state)
        yield from self._clocks(state)
        yield Step("ask", "ASKED", self._asked(state))
        yield Step("die", "OK", self._restarted(state, same_boot=True))
        if self.behind is not None:
            yield Step("reboot", "OK", self._restarted(state, same_boot=False))
        if state.waiting == (0, 0):
            yield Step("stop", "OK", self._stopped(state))

    def _changes(self, state: State) -> Iterator[Step]:
        for what in ("rotate", "force", "retire") if self.lives > 1 else ():
            after = self._decided(state, what)
            if after is None:
                step = Step(what, "CONFLICT", self.recorded(state))
                yield self._spoilt(step) if "refused late" in self.faults else step
            elif len(after.gens) <= self.lives:
                yield self._begun(state, what, after)
        for who, gen in enumerate(state.disk.gens if self.revoked else ()):
            if gen.revoked:
                continue
            gens = replaced(state.disk.gens, who, gen._replace(revoked=True))
            at_once = replaced(
                state.memory.gens, who, state.memory.gens[who]._replace(revoked=True)
            )
            held = state._replace(memory=state.memory._replace(gens=at_once))
            yield self._begun(held, f"revoke {who}", state.disk._replace(gens=gens))

    def _decided(self, state: State, what: str) -> Side | None:
        """What the disk will have; None: CONFLICT."""
        now = self.time(state)
        gens = state.disk.gens
        as_told = state.memory.gens  # revoked in memory alone counts too
        older = as_told[-2] if len(gens) > 1 else None
        open_ = older is not None and older.retires and older.why(now) == "OK"
        if what == "retire":
            ended = self._retired(gens, now) if open_ else None
            return state.disk._replace(gens=ended) if ended else None
        if as_told[-1].why(now) != "OK":
            return None
        if open_ and what == "force":
            gens = self._retired(gens, now)
        elif open_ and "third" not in self.faults:
            return None
        newest = gens[-1]._replace(retires=min(now + 1, gens[-1].expires))
        return state.disk._replace(gens=(*gens[:-1], newest, Gen(now + TTL)))

    @staticmethod
    def _spoilt(step: Step) -> Step:
        gens = step.after.disk.gens
        gens = replaced(gens, len(gens) - 1, gens[-1]._replace(revoked=True))
        disk = step.after.disk._replace(gens=gens)
        return step._replace(after=step.after._replace(disk=disk))

    @staticmethod
    def _retired(gens: tuple[Gen, ...], now: int) -> tuple[Gen, ...]:
        return replaced(gens, len(gens) - 2, gens[-2]._replace(retires=now))

    def _under_way(self, state: State, work: Work) -> Iterator[Step]:
        if work.durable:
            yield self._answered(state, work)
        else:
            held = state._replace(work=work._replace(durable=True), disk=work.after)
            held = self.recorded(held)
            if "never written" in self.faults:
                held = held._replace(disk=state.disk)
            yield Step("go", "DURABLE", held)
            yield self._failed(state, work)
            yield Step("tear", "OK", self._restarted(state, same_boot=True))
        yield Step("die", "OK", self._restarted(state, same_boot=True))
        if self.behind is not None:
            yield Step("reboot", "OK", self._restarted(state, same_boot=False))

    def _answered(self, state: State, work: Work) -> Step:
        """Memory learns of it, then whoever asked."""
        what = work.what.split()[0]
        gens = merged(work.after.gens, state.memory.gens)
        done = state._replace(memory=work.after._replace(gens=gens), work=None)
        if what == "write":
            return self._tries_again(done, work.what)
        ledger = done.ledger._replace(told=merged(work.after.gens, done.ledger.told))
        if what == "rotate" and "new budget" in self.faults:
            none = done.disk._replace(reserved=(0, 0))
            done = done._replace(spent=(0, 0), disk=none, memory=none)
        if what == "revoke":
            ledger = ledger._replace(ended=ledger.ended | {int(work.what.split()[1])})
        return Step("go", "OK", self.recorded(done._replace(ledger=ledger)))

    def _failed(self, state: State, work: Work) -> Step:
        undone = state._replace(work=None)
        if work.what.startswith("write"):
            undone = waits(undone, line_of(work.what), -1)
        return Step("fail", "AUDIT_UNWRITABLE", undone)  # nor can that be recorded

    def _clocks(self, state: State) -> Iterator[Step]:
        now, behind = state.now, state.behind
        if now < self.hours:
            yield Step("tick", "OK", state._replace(now=now + 1))
        if self.behind is None:
            return
        if behind:
            yield Step("leap", "OK", state._replace(behind=behind - 1))
        elif now < self.hours:
            yield Step("leap", "OK", state._replace(now=now + 1))
        if behind < self.behind:
            yield Step("back", "OK", state._replace(behind=behind + 1))

    def _asked(self, state: State) -> State:
        gens = range(len(state.memory.gens))
        ended = {who for who in gens if self.told(state, who) != "OK"}
        if self.child and self.told(state, -1) != "OK":
            ended.add(-1)
        return self._refused(state, ended) if ended else state
