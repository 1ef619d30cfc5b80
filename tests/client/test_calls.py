"""Calls over a live connection: answers find their callers, failures their types."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from signal import SIGINT, pthread_kill
from typing import Any

import pytest
import warded
from warded import v1

from tests.client.fake_gate import FakeGate, Seen, answer_by_method
from tests.client.pki import TOKEN

Start = Callable[..., FakeGate]
ChannelOf = Callable[[FakeGate], warded.Channel]


def check(channel: warded.Channel, **kwargs: Any) -> Any:
    """Health.Check over `channel`."""
    return v1.HealthStub(channel).Check(v1.HealthCheckRequest(), **kwargs)


def test_a_call_carries_token_method_deadline_and_metadata(
    start: Start, channel_of: ChannelOf
) -> None:
    gate = start()
    reply = check(channel_of(gate), timeout=7, metadata={"traceparent": "00-1"})
    assert reply.status == v1.HealthCheckReply.SERVING
    (request,) = gate.seen.requests
    assert request.version == 1
    assert request.token == TOKEN
    assert request.method == "/warded.v1.Health/Check"
    assert 6000 < request.timeout_ms <= 7000
    assert dict(request.metadata) == {"traceparent": "00-1"}
    assert request.call_id[6] >> 4 == 7
    assert request.call_id[8] >> 6 == 2


def test_deadline_is_thirty_seconds_when_none_is_named(
    start: Start, channel_of: ChannelOf
) -> None:
    gate = start()
    check(channel_of(gate))
    assert 29_000 < gate.seen.requests[0].timeout_ms <= 30_000


def test_200_calls_of_32_threads_each_get_their_own_answer(
    start: Start, channel_of: ChannelOf
) -> None:
    ready = threading.Barrier(32)

    def answer(gate: FakeGate, request: Any) -> Any:
        if len(gate.seen.requests) <= 32:
            ready.wait(10)  # so many are in flight at once, whatever their order
        return answer_by_method(gate, request)

    gate = start(answer)
    channel = channel_of(gate)

    def call(size: int) -> tuple[int, int]:
        request = v1.HealthCheckRequest(padding=bytes(size))
        return size, len(v1.HealthStub(channel).Check(request).padding)

    with ThreadPoolExecutor(32) as pool:
        pairs = list(pool.map(call, range(1, 201)))
    assert all(sent == came for sent, came in pairs)
    assert gate.seen.connections == 1


def test_a_reply_of_eight_mebibytes_comes_whole(
    start: Start, channel_of: ChannelOf
) -> None:
    padding = bytes(range(256)) * (8 << 12)
    request = v1.HealthCheckRequest(padding=padding)
    stub = v1.HealthStub(channel_of(start()))
    assert stub.Check(request, timeout=60).padding == padding


REFUSALS = [
    (16, v1.TOKEN_REVOKED, warded.Unauthenticated),
    (7, v1.SCOPE_MISSING, warded.PermissionDenied),
    (8, v1.QUEUE_FULL, warded.Busy),
    (8, v1.TOO_LARGE, warded.InvalidCall),
    (3, v1.FIELD_INVALID, warded.InvalidCall),
    (5, v1.TOOL_UNKNOWN, warded.InvalidCall),
    (4, v1.RUN_TIMEOUT, warded.DeadlineExceeded),
    (1, v1.CANCELLED, warded.Cancelled),
    (14, v1.DRAINING, warded.Unavailable),
    (12, v1.NOT_BUILT, warded.InvalidCall),
    (13, v1.EXECUTOR_DIED, warded.ServerFault),
    (15, v1.OUTCOME_UNRECORDED, warded.OutcomeUnknown),
    (10, v1.REPLY_EVICTED, warded.OutcomeUnknown),
    (13, 99, warded.ServerFault),
]


@pytest.mark.parametrize(("code", "reason", "kind"), REFUSALS)
def test_each_refusal_has_the_type_that_its_caller_handles(
    start: Start,
    channel_of: ChannelOf,
    code: int,
    reason: int,
    kind: type[warded.RpcError],
) -> None:
    gate = start(
        lambda gate, request: gate.reply(
            request, code=code, reason=reason, message="why", retry_after_ms=250
        )
    )
    with pytest.raises(kind) as caught:
        check(channel_of(gate))
    assert caught.value.code() == code
    assert caught.value.reason == reason
    assert caught.value.details() == "why"
    assert caught.value.retry_after_ms == 250
    assert caught.value.phase is warded.Phase.REMOTE
    assert len(gate.seen.requests) == 1  # nothing is sent twice


STRANGE = [
    ("not an envelope", b"\xff\xff\xff"),
    ("code without reason", v1.Reply(code=7).SerializeToString()),
    ("reason without code", v1.Reply(reason=7).SerializeToString()),
    ("another call's", v1.Reply(call_id=b"x" * 16).SerializeToString()),
    ("unreadable payload", v1.Reply(payload=b"\xff").SerializeToString()),
]


@pytest.mark.parametrize("body", [b for _, b in STRANGE], ids=[n for n, _ in STRANGE])
def test_an_answer_that_makes_no_sense_is_a_fault_and_harms_no_other_call(
    start: Start, channel_of: ChannelOf, body: bytes
) -> None:
    answers = [body]

    def answer(gate: FakeGate, request: Any) -> Any:
        return answers.pop() if answers else answer_by_method(gate, request)

    channel = channel_of(start(answer))
    with pytest.raises(warded.ServerFault):
        check(channel)
    assert check(channel).status == v1.HealthCheckReply.SERVING


def test_a_new_connection_follows_one_that_ended_while_idle(
    start: Start, channel_of: ChannelOf
) -> None:
    gate = start()
    channel = channel_of(gate)
    for round_ in range(1, 11):
        check(channel)
        gate.drop_connections()
        gate.wait_for(partial(_closed, round_))
    check(channel)
    assert len(gate.seen.requests) == 11


def _closed(count: int, seen: Seen) -> bool:
    return seen.closed >= count


def test_no_answer_within_deadline_and_grace_is_a_deadline_exceeded(
    start: Start, channel_of: ChannelOf
) -> None:
    channel = channel_of(start(lambda gate, request: None))
    began = time.monotonic()
    with pytest.raises(warded.DeadlineExceeded) as caught:
        check(channel, timeout=0.2)
    assert 2.1 <= time.monotonic() - began < 10
    assert caught.value.may_have_run


@pytest.mark.parametrize("timeout", [0, -1, -0.5])
@pytest.mark.parametrize("connected", [False, True])
def test_claim_11_a_deadline_that_has_passed_sends_nothing_and_says_so(
    start: Start, channel_of: ChannelOf, timeout: float, connected: bool
) -> None:
    gate = start()
    channel = channel_of(gate)
    if connected:
        check(channel)
    with pytest.raises(warded.DeadlineExceeded) as caught:
        check(channel, timeout=timeout)
    assert caught.value.phase is warded.Phase.SEND
    assert not caught.value.may_have_run
    assert caught.value.reason is warded.Reason.QUEUE_TIMEOUT
    assert "not sent within" in caught.value.details()
    assert "safe to retry" in caught.value.details()
    assert len(gate.seen.requests) == connected


def test_a_future_that_nobody_waits_for_ends_at_its_deadline_too(
    start: Start, channel_of: ChannelOf
) -> None:
    channel = channel_of(start(lambda gate, request: None))
    ended = threading.Event()
    stub = v1.HealthStub(channel)
    call = stub.Check.future(v1.HealthCheckRequest(), timeout=0.1)
    call.add_done_callback(lambda _: ended.set())
    assert ended.wait(5)
    assert call.code() is warded.StatusCode.DEADLINE_EXCEEDED


def test_a_connection_that_lost_an_answer_gets_no_new_calls(
    start: Start, channel_of: ChannelOf
) -> None:
    silent = [True]

    def answer(gate: FakeGate, request: Any) -> Any:
        return None if silent.pop() else answer_by_method(gate, request)

    silent[:] = [False, False, True]
    gate = start(answer)
    channel = channel_of(gate)
    with pytest.raises(warded.DeadlineExceeded):
        check(channel, timeout=0.1)
    check(channel)
    check(channel)
    assert gate.seen.connections == 2
    gate.wait_for(lambda seen: seen.closed == 1)


def test_an_interrupted_call_is_cancelled(start: Start, channel_of: ChannelOf) -> None:
    def answer(gate: FakeGate, request: Any) -> Any:
        if request.kind == v1.Request.CANCEL:
            return gate.reply(request)
        pthread_kill(threading.main_thread().ident or 0, SIGINT)
        return None

    gate = start(answer)
    with pytest.raises(KeyboardInterrupt):
        check(channel_of(gate))
    gate.wait_for(lambda seen: len(seen.requests) > 1)  # it may cancel twice
    assert gate.seen.requests[1].kind == v1.Request.CANCEL
    assert gate.seen.requests[1].call_id == gate.seen.requests[0].call_id


def test_cancel_tells_the_gate_and_ends_when_it_confirms(
    start: Start, channel_of: ChannelOf
) -> None:
    held: dict[bytes, threading.Event] = {}
    begun = threading.Event()

    def answer(gate: FakeGate, request: Any) -> Any:
        if request.kind == v1.Request.CANCEL:
            held[request.call_id].set()
            return gate.reply(request)
        held[request.call_id] = threading.Event()
        begun.set()
        assert held[request.call_id].wait(10)
        return gate.reply(request, code=1, reason=v1.CANCELLED, message="dead")

    gate = start(answer)
    stub = v1.HealthStub(channel_of(gate))
    call = stub.Check.future(v1.HealthCheckRequest())
    assert begun.wait(10)
    assert call.cancel()
    with pytest.raises(warded.Cancelled, match="dead"):
        call.result()
    assert call.cancelled()
    assert not call.cancel()  # it has ended


def test_with_call_tells_id_and_metadata(start: Start, channel_of: ChannelOf) -> None:
    def answer(gate: FakeGate, request: Any) -> Any:
        reply = answer_by_method(gate, request)
        reply.metadata["served-by"] = "fake"
        return reply

    gate = start(answer)
    stub = v1.HealthStub(channel_of(gate))
    reply, call = stub.Check.with_call(v1.HealthCheckRequest())
    assert reply.status == v1.HealthCheckReply.SERVING
    assert call.code() is warded.StatusCode.OK
    assert call.trailing_metadata() == (("served-by", "fake"),)
    assert call.call_id.replace("-", "") == gate.seen.requests[0].call_id.hex()
