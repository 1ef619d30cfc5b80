"""Actions as callers give them, checked one by one before anything is sent."""

from __future__ import annotations

import operator
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

from warded.v1 import observation_wd as _pb

ACTION_BYTES = STDIN_BYTES = 1 << 20
TRAJECTORY_BYTES = 255


@dataclass(frozen=True)
class Limits:
    """Ceilings of one action; 0: the tool's default."""

    wall_ms: int = 0
    cpu_ms: int = 0
    memory_bytes: int = 0
    pids: int = 0
    files_bytes: int = 0
    output_bytes: int = 0


@dataclass(frozen=True)
class Action:
    """One action with what it needs. `trajectory_id`: empty: one of its own."""

    text: str
    stdin: bytes = b""
    trajectory_id: str = ""
    limits: Limits = field(default_factory=Limits)


_LARGEST = {f.name: (1 << 64) - 1 for f in fields(Limits)} | {"pids": (1 << 32) - 1}


class ActionError(Exception):
    """One action can't be sent: `where` is the item's field, `why` what is wrong."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(where, why)
        self.where = where
        self.why = why


def as_actions(actions: Iterable[str | Action]) -> list[Action]:
    """A caller's actions. Raises TypeError: not what `run` takes, and what to write."""
    if isinstance(actions, (str, bytes, Action)):
        raise TypeError(
            f"actions: one {type(actions).__name__}, which is no batch; write "
            "warded.run([action])"
        )
    return [_as_action(at, action) for at, action in enumerate(actions)]


def make_item(action: Action, tool: str) -> Any:
    """The `warded.v1.Item`. Raises ActionError: a gate would refuse it, or worse, all
    of its batch."""
    _check_text("action", action.text, ACTION_BYTES)
    _check_text("trajectory_id", action.trajectory_id, TRAJECTORY_BYTES)
    _check_controls("trajectory_id", action.trajectory_id)
    if len(action.stdin) > STDIN_BYTES:
        raise ActionError("stdin", _too_long(len(action.stdin), STDIN_BYTES))
    return _pb.Item(
        trajectory_id=action.trajectory_id or f"run-{uuid.uuid4().hex}",
        action=action.text,
        tool=tool,
        stdin=bytes(action.stdin),
        limits=_limits(action.limits),
    )


def _as_action(at: int, action: object) -> Action:
    made = Action(action) if isinstance(action, str) else action
    if not isinstance(made, Action):
        raise TypeError(
            f"actions[{at}]: {type(made).__name__}; an action is a str, or a "
            "warded.Action"
        )
    for name, value, kind in (
        ("text", made.text, str),
        ("stdin", made.stdin, (bytes, bytearray)),
        ("trajectory_id", made.trajectory_id, str),
        ("limits", made.limits, Limits),
    ):
        if not isinstance(value, kind):
            raise TypeError(
                f"actions[{at}].{name}: {type(value).__name__}; see warded.Action"
            )
    for limit in fields(Limits):
        value = getattr(made.limits, limit.name)
        try:
            operator.index(value)
        except TypeError:
            raise TypeError(
                f"actions[{at}].limits.{limit.name}: {value!r}; a whole number"
            ) from None
    return made


def _check_text(where: str, text: str, most: int) -> None:
    if "\0" in text:
        raise ActionError(where, f"has a NUL as character {text.index(chr(0))}")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        char = ord(text[error.start])
        raise ActionError(
            where, f"has half a character, U+{char:04X}, as character {error.start}"
        ) from error
    if size > most:
        raise ActionError(where, _too_long(size, most))


def _check_controls(where: str, text: str) -> None:
    for at, char in enumerate(text):
        if char < " " or char == "\x7f":
            raise ActionError(
                where, f"has the control character 0x{ord(char):02x} as character {at}"
            )


def _limits(wanted: Limits) -> Any:
    if wanted == Limits():
        return None
    values = {f.name: operator.index(getattr(wanted, f.name)) for f in fields(Limits)}
    for name, value in values.items():
        if not 0 <= value <= _LARGEST[name]:
            raise ActionError(
                f"limits.{name}", f"is {value}, it may be 0 to {_LARGEST[name]}"
            )
    return _pb.Limits(**values)


def _too_long(size: int, most: int) -> str:
    return f"has {size} bytes, at most {most}"
