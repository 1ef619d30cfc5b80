"""A call whose connection was lost: asked again with its id, or its outcome is unknown.

A gate runs no id twice and keeps replies (docs/protocol.md, section 4), so that to ask
the same gate again, in the same name, is safe; of another gate, or in another name, it
would be another call. What a gate says before it has looked for the id is no news of
the first attempt: the call still may have run.
"""

from __future__ import annotations

from typing import Any

from warded._call import Call
from warded._envelope import Reply
from warded._refusals import lost
from warded.errors import RpcError
from warded.status import Reason, StatusCode

ATTEMPTS = 4
"""How often a call is sent at most: no request brings down one gate after the other."""

_BEFORE_THE_ID = frozenset(
    {
        StatusCode.UNAUTHENTICATED,
        StatusCode.PERMISSION_DENIED,
        StatusCode.RESOURCE_EXHAUSTED,
        StatusCode.UNAVAILABLE,
    }
)
_BY_THE_DATE = frozenset({Reason.CALL_ID_EXPIRED, Reason.CLOCK_SKEW})


def take_again(call: Call[Any], why: str, *, sent: bool, closed: bool) -> bool:
    """Its connection has ended: whether to start it again; else it is refused.

    `sent`: all of it was; one of which not every byte was can't have run, and its
    caller may make it anew.
    """
    may_have_run = sent or bool(call.lost_by)
    goes_on = not (closed or call.cancel_asked) and call.remaining_ms() > 0
    if not may_have_run or not goes_on or call.attempt + 1 >= ATTEMPTS:
        call.refuse(lost(call, why, sent=may_have_run))
        return False
    call.lost_by, call.carrier = why, None
    call.attempt += 1
    return True


def refuse_elsewhere(call: Call[Any]) -> None:
    """The connection at hand leads to another gate, or has another name of ours."""
    why = f"{call.lost_by}; another gate, or another identity of ours, has followed"
    call.refuse(lost(call, why, sent=True))


def refuse_unsent(call: Call[Any], error: RpcError) -> None:
    """It can't be sent, or not again: then nobody knows what became of it."""
    if call.lost_by:
        why = f"{call.lost_by}; asking again failed: {error.details()}"
        error = lost(call, why, sent=True)
    call.refuse(error)


def refuse_as(call: Call[Any], reply: Reply) -> None:
    """The gate has refused it."""
    error = reply.error(call.call_id)
    call.reply = reply
    if call.lost_by and (
        error.code() in _BEFORE_THE_ID or error.reason in _BY_THE_DATE
    ):
        why = f"{call.lost_by}; asked again, the gate said {error.reason}"
        error = lost(call, f"{why}: {error.details()}", sent=True)
    call.refuse(error)
