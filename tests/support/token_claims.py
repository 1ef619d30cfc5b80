"""What must hold of the model of tokens (tests/support/token_model.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.support.token_model import Model
from tests.support.token_state import CHILD, FAMILY, State, Step

Invariant = Callable[[Model, State], bool]
StepInvariant = Callable[[Model, State, Step], bool]


def _nothing_revived(model: Model, state: State) -> bool:
    """Whose end was answered is never accepted again."""
    return all(model.told(state, who) != "OK" for who in state.ledger.ended)


def _no_use_too_many(model: Model, state: State) -> bool:
    """Not more are granted than there are, of the family and of the child."""
    granted = state.ledger.granted
    return all(not most or granted[of] <= most for of, most in enumerate(model.uses))


def _uses_are_on_disk_first(model: Model, state: State) -> bool:
    """Whatever dies now, what was granted is not granted again."""
    granted, reserved = state.ledger.granted, state.disk.reserved
    return all(
        not most or granted[of] <= reserved[of] for of, most in enumerate(model.uses)
    )


def _two_at_most(model: Model, state: State) -> bool:
    """A third generation never holds."""
    gens = range(len(state.memory.gens))
    return sum(model.told(state, who) == "OK" for who in gens) <= 2


def _acknowledged_is_there(_: Model, state: State) -> bool:
    """On the disk and in memory, whatever came since."""
    told = state.ledger.told
    for side in (state.disk, state.memory):
        if len(side.gens) < len(told):
            return False
        for said, is_ in zip(told, side.gens, strict=False):
            retired = is_.retires and is_.retires <= said.retires
            if (said.revoked and not is_.revoked) or (said.retires and not retired):
                return False
    return True


INVARIANTS: Mapping[str, Invariant] = {
    "nothing revived": _nothing_revived,
    "no use too many": _no_use_too_many,
    "uses are on disk first": _uses_are_on_disk_first,
    "two generations at most": _two_at_most,
    "acknowledged is there": _acknowledged_is_there,
}


def _failed_changes_nothing(_: Model, before: State, step: Step) -> bool:
    """But that a revocation holds in memory at once."""
    if step.outcome != "AUDIT_UNWRITABLE" or before.work is None:
        return True
    same = step.after.memory == before.work.before
    return step.after.disk == before.disk and same


def _refused_changes_nothing(model: Model, before: State, step: Step) -> bool:
    """But that it is on record."""
    return step.outcome != "CONFLICT" or step.after == model.recorded(before)


def _time_goes_on(_: Model, before: State, step: Step) -> bool:
    """Never back behind what is on disk; nor at all while the machine runs."""
    since = before.kept.now if step.action in ("reboot", "die", "tear") else before.now
    return step.after.now >= since


def _a_stop_loses_nothing(model: Model, before: State, step: Step) -> bool:
    """What is left after it is what was left before it."""
    if step.action != "stop":
        return True
    return all(
        step.after.disk.reserved[of] == before.ledger.granted[of]
        or before.spent[of] > before.ledger.granted[of]  # a kill came before
        for of in (FAMILY, CHILD)
        if model.uses[of]
    )


def _a_kill_loses_so_many(model: Model, before: State, step: Step) -> bool:
    """No more than were reserved in a piece, or waited for."""
    after = step.after
    return all(
        after.spent[of] - before.spent[of]
        <= max(1, model.uses[of] // 16, model.waiting)
        for of in (FAMILY, CHILD)
        if step.action in ("die", "tear", "reboot")
    )


STEPS: Mapping[str, StepInvariant] = {
    "a failed change changes nothing": _failed_changes_nothing,
    "a refused change changes nothing": _refused_changes_nothing,
    "time goes on": _time_goes_on,
    "a stop loses nothing": _a_stop_loses_nothing,
    "a kill loses so many": _a_kill_loses_so_many,
}
