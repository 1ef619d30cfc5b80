"""A lost connection, and the gate does not help: it is away, or refuses at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import warded
from warded import v1

from tests.client.fake_gate import CLOSE, FakeGate
from tests.client.keeper import Keeper, start_one, unknown

Start = Callable[..., FakeGate]
ChannelOf = Callable[[FakeGate], warded.Channel]


# --- a gate that is away ------------------------------------------------------------


def leave(gate: FakeGate, request: Any) -> None:
    """The gate goes, with all its connections."""
    gate.close()


def test_claim_06_gate_that_is_gone_leaves_the_outcome_unknown_at_once(
    start: Start, channel_of: ChannelOf
) -> None:
    gate = start(leave)
    error = unknown(start_one(channel_of(gate), timeout=3600))
    assert "asking again failed" in error.details()


def test_claim_06_who_waits_for_the_gate_gets_the_reply_when_it_is_back(
    start: Start, channel_of: ChannelOf
) -> None:
    keeper = Keeper(0)

    def away(gate: FakeGate, request: Any) -> Any:
        keeper(gate, request)
        gate.close()

    gate = start(away)
    call = start_one(channel_of(gate), 5, timeout=60, wait_for_ready=True)
    gate.wait_for(lambda seen: seen.closed == 1)
    back = start(keeper, address=gate.server_line.strip())
    assert call.result().padding == bytes(5)
    assert list(keeper.ran.values()) == [1]
    (again,) = back.seen.requests
    assert (again.call_id, again.attempt) == (gate.seen.requests[0].call_id, 1)


def test_claim_06_who_waits_in_vain_hears_at_the_deadline_that_it_may_have_run(
    start: Start, channel_of: ChannelOf
) -> None:
    gate = start(leave)
    call = start_one(channel_of(gate), timeout=0.5, wait_for_ready=True)
    with pytest.raises(warded.DeadlineExceeded, match="connection was lost") as caught:
        call.result()
    assert caught.value.may_have_run
    assert caught.value.reason is warded.Reason.RUN_TIMEOUT


def test_claim_06_cancelled_while_it_waits_it_may_have_run(
    start: Start, channel_of: ChannelOf
) -> None:
    gate = start(leave)
    call = start_one(channel_of(gate), timeout=60, wait_for_ready=True)
    gate.wait_for(lambda seen: seen.closed == 1)
    call.cancel()
    unknown(call)


# --- what the gate says to the second attempt ---------------------------------------

NO_NEWS = [
    (16, v1.TOKEN_REVOKED),
    (7, v1.METHOD_UNKNOWN),
    (7, v1.SCOPE_MISSING),
    (8, v1.QUEUE_FULL),
    (8, v1.TOKEN_USES_SPENT),
    (14, v1.DRAINING),
    (14, v1.AUDIT_UNWRITABLE),
    (10, v1.CALL_ID_EXPIRED),
    (3, v1.CLOCK_SKEW),
]
NEWS = [
    (5, v1.TOOL_UNKNOWN, warded.InvalidCall),
    (4, v1.RUN_TIMEOUT, warded.DeadlineExceeded),
    (1, v1.CANCELLED, warded.Cancelled),
    (13, v1.EXECUTOR_DIED, warded.ServerFault),
    (10, v1.REPLY_EVICTED, warded.OutcomeUnknown),
]


def cut_then(code: int, reason: int) -> Callable[[FakeGate, Any], Any]:
    """The first attempt is cut off, each later one refused."""

    def answer(gate: FakeGate, request: Any) -> Any:
        if request.attempt == 0:
            return CLOSE
        return gate.reply(request, code=code, reason=reason, message="no more")

    return answer


@pytest.mark.parametrize(("code", "reason"), NO_NEWS)
def test_claim_06_refusal_of_the_second_attempt_is_no_news_of_the_first(
    start: Start, channel_of: ChannelOf, code: int, reason: int
) -> None:
    gate = start(cut_then(code, reason))
    error = unknown(start_one(channel_of(gate)))
    assert v1.Reason.Name(reason) in error.details()
    assert "no more" in error.details()
    assert len({request.call_id for request in gate.seen.requests}) == 1
    assert len(gate.seen.requests) == 2


@pytest.mark.parametrize(("code", "reason", "kind"), NEWS)
def test_claim_06_failure_that_was_kept_is_told_as_it_was(
    start: Start,
    channel_of: ChannelOf,
    code: int,
    reason: int,
    kind: type[warded.RpcError],
) -> None:
    gate = start(cut_then(code, reason))
    with pytest.raises(kind) as caught:
        start_one(channel_of(gate)).result()
    assert (caught.value.reason, caught.value.phase) == (reason, warded.Phase.REMOTE)
