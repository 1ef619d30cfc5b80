"""Callers that share a connection: whoever reads, each call ends, and at once."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import warded
from warded import _callid, v1

from tests.client.fake_gate import FakeGate, answer_by_method

Start = Callable[..., FakeGate]
ChannelOf = Callable[[FakeGate], warded.Channel]

MANY = 40  # more than may be in flight before requests are gathered
SOON_S = 5.0


def start_one(channel: warded.Channel, size: int = 1) -> Any:
    """A future of Health.Check."""
    request = v1.HealthCheckRequest(padding=bytes(size))
    return v1.HealthStub(channel).Check.future(request, timeout=20)


def holding(held: threading.Event, sizes: set[int]) -> Callable[..., Any]:
    """An answer that keeps back requests of these sizes until `held` is set."""

    def answer(gate: FakeGate, request: Any) -> Any:
        size = len(v1.HealthCheckRequest.FromString(request.payload).padding)
        if size in sizes:
            held.wait(20)
        return answer_by_method(gate, request)

    return answer


def test_many_that_nobody_waits_for_are_sent_and_answered(
    start: Start, channel_of: ChannelOf
) -> None:
    channel = channel_of(start())
    start_one(channel).result()
    done = threading.Semaphore(0)
    for size in range(MANY):
        start_one(channel, size).add_done_callback(lambda _: done.release())
    for _ in range(MANY):
        assert done.acquire(timeout=SOON_S)


def test_many_are_sent_while_another_caller_waits_for_long(
    start: Start, channel_of: ChannelOf
) -> None:
    held = threading.Event()
    channel = channel_of(start(holding(held, {7777})))
    start_one(channel).result()
    slow = start_one(channel, 7777)
    reader = threading.Thread(target=slow.result)
    reader.start()
    calls = [start_one(channel, size) for size in range(MANY)]
    done = threading.Semaphore(0)
    for call in calls:
        call.add_done_callback(lambda _: done.release())
    for _ in range(MANY):
        assert done.acquire(timeout=SOON_S)
    assert not slow.done()
    held.set()
    reader.join(SOON_S)
    assert slow.done()


def test_who_waits_beside_the_reader_goes_on_when_it_leaves(
    start: Start, channel_of: ChannelOf
) -> None:
    held = threading.Event()
    channel = channel_of(start(holding(held, {2})))
    first, second = start_one(channel, 1), start_one(channel, 2)
    other = threading.Thread(target=second.result)
    other.start()
    first.result()
    held.set()
    other.join(SOON_S)
    assert second.done()


def test_two_threads_may_wait_for_one_call(start: Start, channel_of: ChannelOf) -> None:
    held = threading.Event()
    channel = channel_of(start(holding(held, {3})))
    call = start_one(channel, 3)
    threads = [threading.Thread(target=call.result) for _ in range(2)]
    for thread in threads:
        thread.start()
    held.set()
    for thread in threads:
        thread.join(SOON_S)
        assert not thread.is_alive()


def test_a_wait_with_a_limit_leaves_the_call_alone(
    start: Start, channel_of: ChannelOf
) -> None:
    held = threading.Event()
    channel = channel_of(start(holding(held, {4})))
    call = start_one(channel, 4)
    with pytest.raises(TimeoutError):
        call.result(timeout=0.05)
    held.set()
    assert len(call.result(timeout=SOON_S).padding) == 4


def test_the_connections_thread_costs_nothing_while_a_caller_waits(
    start: Start, channel_of: ChannelOf
) -> None:
    held = threading.Event()
    channel = channel_of(start(holding(held, {5})))
    for _ in range(20):
        start_one(channel).result()
    call = start_one(channel, 5)
    threading.Timer(0.5, held.set).start()
    used = time.process_time()
    call.result()
    assert time.process_time() - used < 0.1  # it does not look every few ms


def test_a_forked_child_makes_call_ids_of_its_own() -> None:
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(into, _callid.make_call_id(0))
        os._exit(0)
    os.waitpid(child, 0)
    theirs = os.read(out, 16)
    os.close(out)
    os.close(into)
    assert theirs != _callid.make_call_id(0)
