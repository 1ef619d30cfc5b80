"""A connection lost after the request was sent: the same call, asked again, or unknown.

The gates here keep replies as a real one does: an id that they know is not run again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import warded
from warded import v1
from warded._callid import SystemClock, make_call_id
from warded._connection import Connection

from tests.client.c_caller import calling, parse
from tests.client.conftest import write_gate
from tests.client.fake_gate import CLOSE, FakeGate
from tests.client.keeper import Keeper, start_one, unknown
from tests.client.pki import CLIENT, OTHER_GATE, Authority, Leaf, make_profile

Start = Callable[..., FakeGate]
ChannelOf = Callable[[FakeGate], warded.Channel]

MANY = 40  # more than may be in flight before requests are gathered
SENT_AT_MOST = 4


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
    assert gate.seen.connections == 1


def test_a_cancel_that_comes_while_the_call_is_sent_is_sent_once(
    start: Start, channel_of: ChannelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = start(lambda gate, request: None)
    send, cancels = Connection.send, []

    def cancelled_at_once(self: Connection, body: bytes, call: Any) -> None:
        send(self, body, call)
        if call is None:
            cancels.append(body)
        else:
            call.cancel()  # as another thread may

    monkeypatch.setattr(Connection, "send", cancelled_at_once)
    call = start_one(channel_of(gate))
    gate.wait_for(lambda seen: len(seen.requests) >= 2)
    gate.drop_connections()
    unknown(call)  # by the thread that has sent it
    assert len(cancels) == 1


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
