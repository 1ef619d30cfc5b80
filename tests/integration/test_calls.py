"""Calls through everything that is real: the gate, its executor, the sandbox."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from warded.v1 import GetObservationRequest, Item, Limits, Request

from tests.conftest import NewGate, NewHome
from tests.support.calls import OBSERVE, WHO, reason, rows
from tests.support.gate import Gate, Home
from tests.support.raw_client import RawClient, call_id

ENDLESS = "print('on', flush=True)\nwhile True: pass"
LONG_MS = 60_000


def batch(action: str) -> bytes:
    """A batch of one action that may take its time."""
    item = Item(
        trajectory_id="t",
        tool="python_code",
        action=action,
        limits=Limits(wall_ms=LONG_MS, cpu_ms=LONG_MS),
    )
    return bytes(GetObservationRequest(items=[item]).SerializeToString())


def uuid_text(raw: bytes) -> str:
    """As the audit trail writes it."""
    h = raw.hex()
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"


def events_of(home: Home, once: bytes) -> list[dict[str, Any]]:
    """The rows of one call."""
    return [json.loads(row) for row in rows(home, "--call", uuid_text(once))]


def wait_for(home: Home, once: bytes, event: str) -> dict[str, Any]:
    """The row of that event, once it is there."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        for row in events_of(home, once):
            if row["event"] == event:
                return row
        time.sleep(0.02)
    raise AssertionError(f"no {event} of {uuid_text(once)}")


def start(raw: RawClient, once: bytes, action: str = ENDLESS) -> int:
    """Send an action and do not wait."""
    request = raw.request(OBSERVE, batch(action), call_id=once, timeout_ms=LONG_MS)
    return raw.send(request.SerializeToString())


def test_claim_09_the_next_start_records_what_was_cut_off(
    new_home: NewHome, new_gate: NewGate
) -> None:
    home = new_home()
    trainer = home.profile("trainer", "observe:python_code")
    gate = new_gate(home)
    cut = call_id()
    with RawClient(trainer) as raw:
        start(raw, cut)
        wait_for(home, cut, "call.begin")
        gate.kill()
    new_gate(home)
    begun, closed = events_of(home, cut)
    assert (begun["event"], closed["event"]) == ("call.begin", "call.end")
    assert closed["reason"] == "OUTCOME_UNKNOWN"
    assert len(rows(home, "--event", "gate.recovered")) == 1
    with RawClient(trainer) as raw:
        again = raw.call(OBSERVE, batch(ENDLESS), call_id=cut)
    assert reason(again) == "OUTCOME_UNKNOWN"
    assert len(events_of(home, cut)) == 3, "the refusal is on record, nothing ran"


def test_cancel_ends_the_action(gate: Gate, trainer: Path) -> None:
    once = call_id()
    with RawClient(trainer) as one, RawClient(trainer) as two:
        number = start(one, once)
        wait_for(gate.home, once, "call.begin")
        assert two.call("", kind=Request.CANCEL, call_id=once).code == 0
        got, reply = one.receive()
        assert got == number
        assert reason(reply) == "CANCELLED"
    assert wait_for(gate.home, once, "call.end")["reason"] == "CANCELLED"


def test_claim_07_a_vanished_client_has_its_actions_killed(
    gate: Gate, trainer: Path
) -> None:
    once = call_id()
    with RawClient(trainer) as raw:
        start(raw, once)
        wait_for(gate.home, once, "call.begin")
    assert wait_for(gate.home, once, "call.end")["reason"] == "CANCELLED"


def padded(raw: RawClient, size: int) -> bytes:
    """An envelope of exactly `size` bytes whose payload is no WhoAmIRequest."""
    body = raw.request(WHO).SerializeToString()
    for digits in range(1, 6):
        left = size - len(body) - 1 - digits
        length = bytearray()
        while left >> 7 * len(length) >= 128:
            length.append(left >> 7 * len(length) & 127 | 128)
        length.append(left >> 7 * len(length))
        if len(length) == digits:
            return bytes(body + b"\x4a" + length + b"\xff" * left)
    raise AssertionError(size)


def test_oversize_frames_are_answered(trainer: Path) -> None:
    """n-1, n, n+1 of the frame; the connection goes on after each."""
    limit = 16 << 20
    with RawClient(trainer) as raw:
        for size, want in (
            (limit - 1, "MALFORMED"),
            (limit, "MALFORMED"),
            (limit + 1, "TOO_LARGE"),
            (limit + 60_000, "TOO_LARGE"),
        ):
            reply = raw.ask(padded(raw, size))
            assert reason(reply) == want, reply.message
        assert "limits.frame_bytes" in reply.message
        assert raw.call(WHO).code == 0


def test_a_length_out_of_this_world_is_not_waited_for(trainer: Path) -> None:
    with RawClient(trainer) as raw:
        raw.send_bytes((1 << 62).to_bytes(8, "big") + b"\x80\x00\x00\x01")
        with pytest.raises(OSError, match=r"."):
            raw.receive()


def test_many_callers_at_once_all_get_their_own_answers(trainer: Path) -> None:
    """50 connections on a barrier, three rounds: the handshake state is nobody's."""
    barrier = threading.Barrier(50)
    bad: list[str] = []

    def work(number: int) -> None:
        barrier.wait(30)
        for _ in range(3):
            try:
                with RawClient(trainer) as raw:
                    reply = raw.call(WHO)
                    if reply.code:
                        bad.append(f"{number}: {reason(reply)} {reply.message}")
            except OSError as error:
                bad.append(f"{number}: {error!r}")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not bad
