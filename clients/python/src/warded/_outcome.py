"""What became of an action, and whether that is an observation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from warded.errors import (
    Busy,
    Cancelled,
    Failure,
    InvalidCall,
    PermissionDenied,
    RpcError,
    ServerFault,
)
from warded.status import Named, Phase, Reason, StatusCode
from warded.v1 import observation_wd as _pb


class ItemStatus(Named):
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
class Exit:
    """How the action's process ended; `cause` names the limit that ended it."""

    code: int
    signal: int
    cause: str


@dataclass(frozen=True)
class Outcome:
    """What became of one action.

    Where a stream was cut, `stdout` and `stderr` have CUT_MARK between head and tail;
    `result.content` has the two without it.
    """

    status: ItemStatus
    reason: Reason
    message: str  # what stopped it, or what is wrong; empty when its output tells all
    stdout: str
    stderr: str
    exit: Exit
    queue_us: int
    run_us: int
    original_bytes: int  # of stdout, before it was cut
    truncated: bool  # stdout or stderr was cut: head and tail are kept
    result: Any = field(repr=False, compare=False)  # the whole warded.v1.Result

    @property
    def observation(self) -> str:
        """What the model should see: stdout, stderr, then what stopped it, if it was.

        An action whose own text is wrong has the refusal as its observation. Raises
        where there is none, and the fault is not the model's; never train on those:
        Busy, Cancelled, ServerFault: it did not run, or Warded itself failed;
        PermissionDenied: the token may not use the tool;
        InvalidCall: what the caller gave with the action is wrong: tool, limits, stdin.
        """
        kind = self._refusal()
        if kind is not None:
            raise kind(self._failure())
        message = "" if self.is_ok else self.message
        parts = [self.stdout, self.stderr, message]
        return "\n".join(part.rstrip("\n") for part in parts if part)

    @property
    def is_ok(self) -> bool:
        """Whether the action ran to its end, well."""
        return self.status is ItemStatus.OK

    def _refusal(self) -> type[RpcError] | None:
        if self.status is ItemStatus.INVALID_ACTION and self._field() == MODEL_S_FIELD:
            return None
        return _NO_OBSERVATION.get(self.status)

    def _field(self) -> str:
        return str(self.result.metadata.get("field", ""))

    def _failure(self) -> Failure:
        code = _CODES.get(self.status, StatusCode.INTERNAL)
        message = f"no observation: {self.status}: {self.message}"
        return Failure(code, self.reason, message, Phase.REMOTE)


CUT_MARK = "\n[... {} bytes cut ...]\n"
"""Between head and tail of an output that was cut; the number is the bytes that were
between them. An action can print the same: `truncated` tells whether it is ours."""

MODEL_S_FIELD = "action"
"""The field of an item that the model wrote; all others are its caller's."""

_NO_OBSERVATION: dict[ItemStatus, type[RpcError]] = {
    ItemStatus.INVALID_ACTION: InvalidCall,
    ItemStatus.DENIED: PermissionDenied,
    ItemStatus.BUSY: Busy,
    ItemStatus.CANCELLED: Cancelled,
    ItemStatus.INFRA: ServerFault,
}
_CODES = {
    ItemStatus.INVALID_ACTION: StatusCode.INVALID_ARGUMENT,
    ItemStatus.DENIED: StatusCode.PERMISSION_DENIED,
    ItemStatus.BUSY: StatusCode.RESOURCE_EXHAUSTED,
    ItemStatus.CANCELLED: StatusCode.CANCELLED,
}


def read_outcome(result: Any) -> Outcome:
    """A `warded.v1.Result` as an Outcome."""
    streams = {c.name: c for c in result.content if c.WhichOneof("kind") == "text"}
    stdout, stderr = streams.get("stdout"), streams.get("stderr")
    return Outcome(
        status=ItemStatus(result.status),
        reason=Reason(result.reason),
        message=result.message,
        stdout=_read_text(stdout),
        stderr=_read_text(stderr),
        exit=Exit(result.exit.code, result.exit.signal, _cause(result.exit.cause)),
        queue_us=result.timings.queue_us,
        run_us=result.timings.run_us,
        original_bytes=_original_bytes(stdout),
        truncated=any(map(_is_cut, streams.values())),
        result=result,
    )


def refused(where: str, why: str) -> Outcome:
    """Of an action that no gate would take: what a gate would say to it, had it been
    sent. `where`: the item's field."""
    return read_outcome(
        _pb.Result(
            status=ItemStatus.INVALID_ACTION,
            reason=Reason.FIELD_INVALID,
            message=f"{where} {why}; not sent",
            metadata={"field": where.partition(".")[0]},
        )
    )


def _read_text(content: Any) -> str:
    if content is None:
        return ""
    if not _is_cut(content):
        return str(content.text)
    cut = content.truncation
    text: bytes = content.text.encode()
    between = max(cut.original_bytes - cut.head_bytes - cut.tail_bytes, 0)
    head, tail = text[: cut.head_bytes], text[cut.head_bytes :]
    parts = head.decode(errors="replace"), tail.decode(errors="replace")
    return CUT_MARK.format(between).join(parts)


def _original_bytes(content: Any) -> int:
    if content is None:
        return 0
    if _is_cut(content):
        return int(content.truncation.original_bytes)
    return len(content.text.encode())


def _is_cut(content: Any) -> bool:
    return bool(content.HasField("truncation"))


def _cause(number: int) -> str:
    known = _pb.Exit.Cause.items()
    return next((name for name, value in known if value == number), str(number))
