"""`warded.run`: actions in, outcomes out, for those who want no stubs."""

from __future__ import annotations

import enum
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from warded.channel import Channel, connect
from warded.errors import (
    Busy,
    Cancelled,
    Failure,
    RpcError,
    ServerFault,
)
from warded.status import Phase, Reason, StatusCode
from warded.v1 import observation_wd as _pb


class ItemStatus(enum.IntEnum):
    """How one action ended: `warded.v1.Result.Status`, number by number."""

    OK = 1
    INVALID_ACTION = 2
    TOOL_ERROR = 3
    TIMEOUT = 4
    RESOURCE_LIMIT = 5
    DENIED = 6
    BUSY = 7
    CANCELLED = 8
    INFRA = 9

    @classmethod
    def _missing_(cls, value: object) -> ItemStatus:
        return cls.INFRA  # a status that this version does not know is no observation


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


@dataclass(frozen=True)
class Exit:
    """How the action's process ended; `cause` names the limit that ended it."""

    code: int
    signal: int
    cause: str


@dataclass(frozen=True)
class Outcome:
    """What became of one action."""

    status: ItemStatus
    reason: Reason
    message: str
    stdout: str
    stderr: str
    exit: Exit
    queue_us: int
    run_us: int
    original_bytes: int  # of stdout; larger than len(stdout) when it was cut
    truncated: bool  # stdout or stderr was cut: head and tail are kept
    result: Any = field(repr=False, compare=False)  # the whole warded.v1.Result

    @property
    def observation(self) -> str:
        """What the model should see: its output, and why it was stopped if it was.

        Raises Busy, Cancelled or ServerFault where there is no observation: the action
        did not run, or Warded itself failed. Never train on those.
        """
        kind = _NO_OBSERVATION.get(self.status)
        if kind is not None:
            raise kind(self._failure())
        told = self.status not in (ItemStatus.OK, ItemStatus.TOOL_ERROR)
        message = self.message if told or not (self.stdout or self.stderr) else ""
        parts = [self.stdout, self.stderr, "" if self.is_ok else message]
        return "\n".join(part.rstrip("\n") for part in parts if part)

    @property
    def is_ok(self) -> bool:
        """Whether the action ran to its end, well."""
        return self.status is ItemStatus.OK

    def _failure(self) -> Failure:
        code = _CODES.get(self.status, StatusCode.INTERNAL)
        message = f"no observation: {self.status.name}: {self.message}"
        return Failure(code, self.reason, message, Phase.REMOTE)


_NO_OBSERVATION: dict[ItemStatus, type[RpcError]] = {
    ItemStatus.BUSY: Busy,
    ItemStatus.CANCELLED: Cancelled,
    ItemStatus.INFRA: ServerFault,
}
_CODES = {
    ItemStatus.BUSY: StatusCode.RESOURCE_EXHAUSTED,
    ItemStatus.CANCELLED: StatusCode.CANCELLED,
}


def run(
    actions: Iterable[str | Action],
    tool: str = "python_code",
    *,
    channel: Channel | None = None,
    timeout: float | None = None,
    wait_for_ready: bool = False,
) -> list[Outcome]:
    """Run actions as one batch: one outcome each, in their order.

    `tool`: its name; empty: routed by the tools' tags. `channel`: None: of
    `warded.connect()`. `timeout`: seconds for the whole batch, 30 when None.
    Raises RpcError when no action ran; one that fails fails alone, by its outcome.

    Example::

        for outcome in warded.run(["print(2 ** 10)", "1 / 0"]):
            print(outcome.status.name, outcome.observation)
    """
    items = [_item(_as_action(action), tool) for action in actions]
    if not items:
        return []
    stub = _pb.ObservationStub(connect() if channel is None else channel)
    reply = stub.GetObservation(
        _pb.GetObservationRequest(items=items),
        timeout=timeout,
        wait_for_ready=wait_for_ready,
    )
    if len(reply.results) != len(items):
        raise ServerFault(_wrong_length(len(items), len(reply.results)))
    return [read_outcome(result) for result in reply.results]


def read_outcome(result: Any) -> Outcome:
    """A `warded.v1.Result` as an Outcome."""
    streams = {c.name: c for c in result.content if c.WhichOneof("kind") == "text"}
    stdout, stderr = streams.get("stdout"), streams.get("stderr")
    text = "" if stdout is None else stdout.text
    cut = [c.truncation.original_bytes for c in streams.values() if _is_cut(c)]
    return Outcome(
        status=ItemStatus(result.status),
        reason=Reason(result.reason),
        message=result.message,
        stdout=text,
        stderr="" if stderr is None else stderr.text,
        exit=Exit(result.exit.code, result.exit.signal, _cause(result.exit.cause)),
        queue_us=result.timings.queue_us,
        run_us=result.timings.run_us,
        original_bytes=(
            stdout.truncation.original_bytes
            if stdout is not None and _is_cut(stdout)
            else len(text.encode())
        ),
        truncated=bool(cut),
        result=result,
    )


def _is_cut(content: Any) -> bool:
    return bool(content.HasField("truncation"))


def _cause(number: int) -> str:
    known = _pb.Exit.Cause.items()
    return next((name for name, value in known if value == number), str(number))


def _as_action(action: str | Action) -> Action:
    return action if isinstance(action, Action) else Action(action)


def _item(action: Action, tool: str) -> Any:
    wanted = action.limits
    return _pb.Item(
        trajectory_id=action.trajectory_id or f"run-{uuid.uuid4().hex}",
        action=action.text,
        tool=tool,
        stdin=action.stdin,
        limits=_pb.Limits(
            wall_ms=wanted.wall_ms,
            cpu_ms=wanted.cpu_ms,
            memory_bytes=wanted.memory_bytes,
            pids=wanted.pids,
            files_bytes=wanted.files_bytes,
            output_bytes=wanted.output_bytes,
        ),
    )


def _wrong_length(sent: int, came: int) -> Failure:
    return Failure(
        StatusCode.INTERNAL,
        Reason.BUG,
        f"{came} results for {sent} actions: none can be told apart",
        Phase.REMOTE,
    )
