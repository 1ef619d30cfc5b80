"""Endings of a call that the client finds out by itself."""

from __future__ import annotations

import logging
from typing import Any

from warded._call import Call
from warded._wire import FrameTooLargeError
from warded.errors import Failure, RpcError, make_error, unreachable
from warded.status import Phase, Reason, StatusCode

_log = logging.getLogger("warded")


def take_back(call: Call[Any]) -> None:
    """Cancelled, and never sent, or not again."""
    if call.lost_by:
        call.refuse(lost(call, f"{call.lost_by}; it was cancelled then", sent=True))
        return
    call.fail(
        StatusCode.CANCELLED,
        Reason.CANCELLED,
        f"{call.ask.path}: cancelled before it was sent",
        Phase.SEND,
    )


def refuse_size(call: Call[Any], error: FrameTooLargeError) -> None:
    """Larger than the gate takes; never sent."""
    call.refuse(too_large(call.ask.path, error))


def too_large(path: str, error: FrameTooLargeError) -> RpcError:
    """The exception for a request that the gate would refuse unread."""
    return make_error(
        Failure(
            StatusCode.RESOURCE_EXHAUSTED,
            Reason.TOO_LARGE,
            f"{path}: {error}; not sent",
            Phase.SEND,
        )
    )


def bad_text(path: str, why: str) -> RpcError:
    """The exception for a request with a text that the gate would refuse."""
    return make_error(
        Failure(
            StatusCode.INVALID_ARGUMENT,
            Reason.FIELD_INVALID,
            f"{path}: {why}; not sent",
            Phase.SEND,
        )
    )


def refuse_strange(call: Call[Any], why: str) -> None:
    """An answer came that is none: what the call did is not known."""
    call.fail(
        StatusCode.INTERNAL,
        Reason.BUG,
        f"{call.ask.path}: the answer can't be used: {why}",
        Phase.WAIT,
    )


def lost(call: Call[Any], why: str, *, sent: bool) -> RpcError:
    """The connection ended before the answer: `why`."""
    message = f"{call.ask.path}: the connection ended: {why}"
    if not sent:
        return unreachable(message, Phase.SEND, call_id=call.call_id)
    return make_error(
        Failure(
            StatusCode.ABORTED,
            Reason.OUTCOME_UNKNOWN,
            f"{message}; the call was sent and may have run; look for call id "
            f"{call.call_id} in the audit trail before you send it again",
            Phase.WAIT,
            call_id=call.call_id,
        )
    )


def as_rpc_error(error: Exception) -> RpcError:
    """`error` itself, or what a caller sees of a bug of ours."""
    if isinstance(error, RpcError):
        return error
    _log.error("a bug in the client", exc_info=error)
    text = f"a bug in the client: {error!r}"
    return make_error(Failure(StatusCode.INTERNAL, Reason.BUG, text, Phase.CONNECT))
