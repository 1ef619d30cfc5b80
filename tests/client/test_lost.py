"""A connection lost after the request was sent: the same call, asked again, or unknown.

The gates here keep replies as a real one does: an id that they know is not run again.
"""

from __future__ import annotations

import collections
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import warded
from warded import v1
from warded._callid import SystemClock, make_call_id

from tests.client.c_caller import calling, parse
from tests.client.conftest import write_gate
from tests.client.fake_gate import CLOSE, FakeGate, answer_by_method
from tests.client.pki import CLIENT, OTHER_GATE, Authority, Leaf, make_profile

Start = Callable[..., FakeGate]
ChannelOf = Callable[[FakeGate], warded.Channel]

MANY = 40  # more than may be in flight before requests are gathered
SENT_AT_MOST = 4


class Keeper:
    """Runs what it does not know, and answers once its connections were cut often."""

    def __init__(self, cuts: int) -> None:
        self.ran: collections.Counter[bytes] = collections.Counter()
        self._kept: dict[bytes, Any] = {}
        self._cuts = cuts
        self._lock = threading.Lock()

    def __call__(self, gate: FakeGate, request: Any) -> Any:
        with self._lock:
            if request.call_id not in self._kept:
                self._kept[request.call_id] = answer_by_method(gate, request)
                self.ran[request.call_id] += 1
            if self._cuts > 0:
                self._cuts -= 1
                return CLOSE
        return self._kept[request.call_id]


def start_one(channel: warded.Channel, size: int = 1, **kwargs: Any) -> Any:
    """A future of Health.Check."""
    request = v1.HealthCheckRequest(padding=bytes(size))
    return v1.HealthStub(channel).Check.future(request, **{"timeout": 20, **kwargs})


def unknown(call: Any) -> warded.OutcomeUnknown:
    """As it must end: it may have run."""
    with pytest.raises(warded.OutcomeUnknown) as caught:
        call.result()
    error = caught.value
    assert error.reason is warded.Reason.OUTCOME_UNKNOWN
    assert (error.phase, error.may_have_run) == (warded.Phase.WAIT, True)
    assert call.call_id in error.details()
    return error


@pytest.mark.parametrize("cuts", range(1, SENT_AT_MOST))
def test_claim_06_reply_that_was_kept_is_given_after_the_connection_was_cut(
    start: Start, channel_of: ChannelOf, cuts: int
) -> None:
    gate = start(keeper := Keeper(cuts))
    call = start_one(channel_of(gate), 9)
    assert call.result().padding == bytes(9)
    first, *others = gate.seen.requests
    assert list(keeper.ran.values()) == [1]
    assert [r.attempt for r in gate.seen.requests] == list(range(cuts + 1))
    for again in others:
        assert again.call_id == first.call_id
        assert (again.method, again.payload) == (first.method, first.payload)
        assert 0 < again.timeout_ms <= first.timeout_ms


def test_claim_06_call_is_not_asked_for_without_end(
    start: Start, channel_of: ChannelOf
) -> None:
    gate = start(keeper := Keeper(SENT_AT_MOST))
    unknown(start_one(channel_of(gate)))
    assert len(gate.seen.requests) == SENT_AT_MOST
    assert list(keeper.ran.values()) == [1]


def test_claim_06_many_calls_of_a_lost_connection_each_get_their_own_reply(
    start: Start, channel_of: ChannelOf
) -> None:
    held = threading.Event()
    keeper = Keeper(0)

    def answer(gate: FakeGate, request: Any) -> Any:
        reply = keeper(gate, request)
        return reply if held.is_set() else None

    gate = start(answer)
    channel = channel_of(gate)
    calls = [start_one(channel, size) for size in range(MANY)]
    gate.wait_for(lambda seen: len(seen.requests) == MANY)
    held.set()
    gate.drop_connections()
    assert [len(c.result().padding) for c in calls] == list(range(MANY))
    assert set(keeper.ran.values()) == {1}
    assert len(keeper.ran) == MANY


def test_claim_06_another_gate_is_not_asked(
    start: Start, tmp_path: Path, authority: Authority
) -> None:
    other = start(
        folder=write_gate(tmp_path / "other", authority, Leaf(uris=(OTHER_GATE,)))
    )

    def leave(gate: FakeGate, request: Any) -> Any:
        gate.close()

    first = start(leave)
    servers = first.server_line + other.server_line
    with warded.connect(make_profile(tmp_path / "p", authority, servers)) as channel:
        call = start_one(channel)
        assert "another gate" in unknown(call).details()
        assert (len(first.seen.requests), len(other.seen.requests)) == (1, 0)
        assert start_one(channel).result().status == v1.HealthCheckReply.SERVING
        assert len(other.seen.requests) == 1


def test_claim_06_nobody_asks_in_another_name(
    start: Start, tmp_path: Path, authority: Authority
) -> None:
    profile = tmp_path / "p"

    def turn(gate: FakeGate, request: Any) -> Any:
        mine = Leaf(uris=(CLIENT.replace("trainer", "other"),), facts={})
        authority.issue(mine).write(profile)
        return CLOSE

    gate = start(turn)
    with warded.connect(make_profile(profile, authority, gate.server_line)) as channel:
        assert "another identity" in unknown(start_one(channel)).details()
    assert len(gate.seen.requests) == 1


def test_claim_06_new_certificate_of_the_same_name_may_ask(
    start: Start, tmp_path: Path, authority: Authority
) -> None:
    keeper, profile = Keeper(1), tmp_path / "p"

    def turn(gate: FakeGate, request: Any) -> Any:
        authority.issue(Leaf(uris=(CLIENT,), facts={})).write(profile)
        return keeper(gate, request)

    gate = start(turn)
    with warded.connect(make_profile(profile, authority, gate.server_line)) as channel:
        start_one(channel).result()
    assert list(keeper.ran.values()) == [1]


def test_claim_06_nobody_asks_after_the_deadline(
    start: Start, channel_of: ChannelOf
) -> None:
    gate = start(lambda gate, request: None)
    call = start_one(channel_of(gate))
    gate.wait_for(lambda seen: len(seen.requests) == 1)
    call.deadline_ms = time.monotonic_ns() // 1_000_000  # now: in the grace
    gate.drop_connections()
    unknown(call)
    assert len(gate.seen.requests) == 1


def test_claim_06_nobody_asks_for_what_was_cancelled(
    start: Start, channel_of: ChannelOf
) -> None:
    gate = start(lambda gate, request: None)
    call = start_one(channel_of(gate))
    gate.wait_for(lambda seen: len(seen.requests) == 1)
    call.cancel()
    gate.wait_for(lambda seen: len(seen.requests) == 2)
    gate.drop_connections()
    unknown(call)
    kinds = [request.kind for request in gate.seen.requests]
    assert kinds == [v1.Request.CALL, v1.Request.CANCEL]


def test_claim_06_nobody_asks_once_the_channel_is_closed(
    start: Start, channel_of: ChannelOf
) -> None:
    gate = start(lambda gate, request: None)
    channel = channel_of(gate)
    call = start_one(channel)
    gate.wait_for(lambda seen: len(seen.requests) == 1)
    channel.close()
    gate.drop_connections()
    unknown(call)
    assert len(gate.seen.requests) == 1


def test_claim_06_who_calls_from_c_may_ask_again_with_the_same_id(
    start: Start, profile_of: Callable[[FakeGate], Path]
) -> None:
    gate = start(keeper := Keeper(1))
    call_id = make_call_id(SystemClock().wall_ms())
    with calling(profile_of(gate)) as caller:
        ends = [parse(caller.do(f"id {call_id.hex()} 10000")) for _ in range(2)]
    assert [end.reason for end in ends] == ["OUTCOME_UNKNOWN", "ok"]
    assert [request.call_id for request in gate.seen.requests] == [call_id] * 2
    assert list(keeper.ran.values()) == [1]


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
    start: Start, channel_of: ChannelOf, code: int, reason: int, kind: type
) -> None:
    gate = start(cut_then(code, reason))
    with pytest.raises(kind) as caught:
        start_one(channel_of(gate)).result()
    assert isinstance(caught.value, warded.RpcError)
    assert (caught.value.reason, caught.value.phase) == (reason, warded.Phase.REMOTE)
