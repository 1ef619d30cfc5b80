"""Parts of the model of tokens: what is seen, records, ends, and uses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.support.token_state import (
    CHILD,
    FAMILY,
    START,
    TTL,
    Gen,
    Kept,
    Pair,
    Side,
    State,
    Step,
    Work,
    line_of,
    merged,
    waits,
)

CHUNKS, CHUNK = 16, 64  # a family's uses are reserved in pieces


@dataclass(frozen=True)
class Seen:
    """How far it is looked into, and which fault it has; what is seen and recorded."""

    lives: int = 1
    hours: int = START  # the last one that is looked at
    behind: int | None = None  # most that the wall clock is set back; None: no jumps
    uses: Pair = (0, 0)  # 0: no bound
    child: bool = False
    revoked: bool = True
    waiting: int = 0
    faults: frozenset[str] = field(default_factory=frozenset)

    def told(self, state: State, who: int) -> str:
        """What a call is told: of generation `who`; -1: the child."""
        now = self.time(state)
        gens = state.memory.gens
        if who >= 0:
            return gens[who].why(now)
        own = Gen(START + TTL).why(now)
        if own != "OK" or any(gen.why(now) == "OK" for gen in gens[-2:]):
            return own
        return "TOKEN_REVOKED" if gens[-1].revoked else "TOKEN_EXPIRED"

    def seen(self, state: State) -> str:
        """As tests/support/token_steps.c says it."""
        gens = [self.told(state, who) for who in range(len(state.memory.gens))]
        if state.work and len(state.work.after.gens) > len(gens):
            gens.append("TOKEN_UNKNOWN")
        child = self.told(state, -1) if self.child else "-"
        return f"{','.join(gens)}/{child}/{state.spent[0]},{state.spent[1]}"

    def time(self, state: State) -> int:
        """The time that checks go by."""
        wall = "wall clock" in self.faults
        return state.now - state.behind if wall else state.now

    def _kept(self, state: State) -> Kept:
        if state.now <= state.kept.now or "time not kept" in self.faults:
            return state.kept
        return Kept(state.now, state.behind)

    def recorded(self, state: State) -> State:
        """An answer is on record before it is given.

        With it goes what is owed: the time, and revocations that could not be written.
        """
        owed = merged(state.disk.gens, state.memory.gens)
        if "nothing owed" in self.faults:
            owed = state.disk.gens
        disk = state.disk._replace(gens=owed)
        return state._replace(disk=disk, kept=self._kept(state))

    def _begun(self, state: State, what: str, after: Side) -> Step:
        work = Work(what, after, state.memory)
        begun = state._replace(work=work)
        if "memory first" in self.faults and not what.startswith("revoke"):
            begun = begun._replace(memory=after)
        return Step(what, "BEGUN", begun)

    def _refused(self, state: State, ended: set[int]) -> State:
        ledger = state.ledger._replace(ended=state.ledger.ended | ended)
        return self.recorded(state._replace(ledger=ledger))

    def _restarted(self, state: State, *, same_boot: bool) -> State:
        """Killed, and opened again: with what the disk has, and with that alone."""
        disk, kept = state.disk, state.kept._replace(here=state.kept.here and same_boot)
        wall = state.now - state.behind
        passed = max(0, wall - (kept.now - kept.behind))
        now = max(kept.now + passed, state.now if kept.here else 0)
        now = wall if "clock anew" in self.faults else now
        spent = (0, 0) if "forgets" in self.faults else disk.reserved
        return state._replace(
            memory=disk,
            spent=spent,
            waiting=(0, 0),
            work=None,
            kept=kept,
            now=now,
            behind=now - wall,
        )

    def _stopped(self, state: State) -> State:
        state = self.recorded(state)
        left = state.disk.reserved if "keeps" in self.faults else state.spent
        disk = state.disk._replace(reserved=left)
        kept = Kept(state.now, state.behind)
        return state._replace(disk=disk, memory=disk, spent=left, kept=kept)


@dataclass(frozen=True)
class Uses(Seen):
    """Calls, and the writer that reserves uses for them."""

    def _calls(self, state: State) -> Iterator[Step]:
        if self.uses == (0, 0):
            return
        for who in [*range(len(state.memory.gens)), *([-1] if self.child else [])]:
            action = f"call {'c' if who < 0 else who}"
            why = self.told(state, who)
            line = CHILD if who < 0 else FAMILY
            if why == "OK":
                step = self._use(state, action, line)
                if sum(step.after.waiting) > self.waiting:
                    continue
            else:
                step = Step(action, why, self._refused(state, {who}))
            # while the writer is busy, who is refused waits for the record of it
            if state.work is None or step.outcome in ("OK", "WAITS"):
                yield step

    def _use(self, state: State, action: str, line: int) -> Step:
        taken = list(state.spent)
        for of in range(line, line - 1 if "child apart" in self.faults else -1, -1):
            if not self.uses[of] or taken[of] < state.memory.reserved[of]:
                taken[of] += 1 if self.uses[of] else 0
                continue
            if taken[of] >= self.uses[of]:
                return Step(action, "TOKEN_USES_SPENT", self.recorded(state))
            if "reserve later" in self.faults:
                taken[of] += 1
                continue
            return Step(action, "WAITS", waits(state, line, +1))
        granted = list(state.ledger.granted)
        for of in range(line + 1):
            granted[of] += 1
        ledger = state.ledger._replace(granted=(granted[0], granted[1]))
        after = state._replace(spent=(taken[0], taken[1]), ledger=ledger)
        return Step(action, "OK", after)

    def _writes(self, state: State) -> Iterator[Step]:
        for line, who in ((FAMILY, "0"), (CHILD, "c")):
            if not state.waiting[line]:
                continue
            more = list(state.disk.reserved)
            for of in range(line + 1):
                more[of] += self._lacks(state, of)
            after = state.disk._replace(reserved=(more[0], more[1]))
            action = f"write {who}"
            if after == state.disk and self.recorded(state) == state:
                yield self._tries_again(state, action)._replace(action=action)
            else:
                yield self._begun(state, action, after)

    def _lacks(self, state: State, of: int) -> int:
        most, reserved = self.uses[of], state.disk.reserved[of]
        waiting = sum(state.waiting[of:])
        lacking = waiting - (reserved - state.spent[of])
        if not most or lacking <= 0 or reserved >= most:
            return 0
        if "hoards" in self.faults:
            return most - reserved
        return min(max(min(most // CHUNKS, CHUNK), lacking), most - reserved)

    def _tries_again(self, state: State, action: str) -> Step:
        line = line_of(action)
        step = self._use(waits(state, line, -1), "go", line)
        return step._replace(action="go")
