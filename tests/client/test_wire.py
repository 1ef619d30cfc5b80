"""The wire alone: bytes in, events out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warded._wire import (
    FRAME_BYTES,
    Answer,
    Event,
    FrameTooLargeError,
    Greeted,
    Wire,
    WireError,
)

GREETING = bytes.fromhex("00 53 50 00 00 31 00 00")


def greeted() -> Wire:
    """A wire whose peer has greeted."""
    wire = Wire()
    assert wire.receive(GREETING) == [Greeted()]
    return wire


def frame(request_id: int, body: bytes) -> bytes:
    """An answer as a gate sends it."""
    size = (len(body) + 4).to_bytes(8, "big")
    return size + request_id.to_bytes(4, "big") + body


def test_greeting_and_request_are_what_nng_sends() -> None:
    wire = greeted()
    assert wire.greeting() == bytes.fromhex("00 53 50 00 00 30 00 00")
    request_id, data = wire.request(b"hello")
    assert request_id & 0x80000000
    assert data == frame(request_id, b"hello")


def test_request_before_the_greeting_is_a_bug() -> None:
    with pytest.raises(AssertionError):
        Wire().request(b"")


def test_answers_match_their_requests_in_any_order() -> None:
    wire = greeted()
    first, _ = wire.request(b"1")
    second, _ = wire.request(b"2")
    events = wire.receive(frame(second, b"two") + frame(first, b"one"))
    assert events == [Answer(second, b"two"), Answer(first, b"one")]
    assert wire.outstanding == 0


def test_every_split_of_the_stream_gives_the_same_events() -> None:
    wire = greeted()
    request_id, _ = wire.request(b"x")
    stream = GREETING + frame(request_id, b"body") + frame(request_id, b"late")
    for cut in range(len(stream) + 1):
        fresh = Wire()
        fresh.receive(GREETING)
        fresh.request(b"x")
        events: list[Event] = []
        again = Wire()
        events += again.receive(stream[: min(cut, 8)])
        events += again.receive(stream[min(cut, 8) : 8])
        assert events == [Greeted()]
        rest = stream[8:]
        split = max(cut - 8, 0)
        got = fresh.receive(rest[:split]) + fresh.receive(rest[split:])
        assert got == [Answer(request_id, b"body")]


def test_every_prefix_of_a_frame_completes_nothing() -> None:
    whole = frame(0x80000001, b"body")
    for size in range(len(whole)):
        wire = greeted()
        wire.request(b"x")
        assert wire.receive(whole[:size]) == []


def test_every_flipped_byte_of_the_greeting_is_refused() -> None:
    for place in range(len(GREETING)):
        for bit in range(8):
            bad = bytearray(GREETING)
            bad[place] ^= 1 << bit
            with pytest.raises(WireError):
                Wire().receive(bytes(bad))


def test_a_wrong_greeting_is_refused_at_its_first_wrong_byte() -> None:
    with pytest.raises(WireError, match="48 54 54 50"):
        Wire().receive(b"HTTP")


@pytest.mark.parametrize("length", [0, 3, FRAME_BYTES + (64 << 10) + 5, 2**31, 2**62])
def test_an_absurd_length_is_refused_before_anything_is_kept(length: int) -> None:
    with pytest.raises(WireError, match=str(length)):
        greeted().receive(length.to_bytes(8, "big"))


def test_an_id_without_the_top_bit_is_refused() -> None:
    with pytest.raises(WireError, match="top bit"):
        greeted().receive(frame(1, b""))


def test_late_and_unasked_answers_are_dropped() -> None:
    wire = greeted()
    request_id, _ = wire.request(b"x")
    wire.forget(request_id)
    assert wire.receive(frame(request_id, b"late") + frame(0xFFFFFFFF, b"")) == []


def test_a_request_above_the_limit_is_refused_and_changes_nothing() -> None:
    wire = greeted()
    with pytest.raises(FrameTooLargeError) as caught:
        wire.request(bytes(FRAME_BYTES + 1))
    for word in (str(FRAME_BYTES + 1), str(FRAME_BYTES), "limits.frame_bytes"):
        assert word in str(caught.value)
    assert wire.outstanding == 0
    wire.request(bytes(FRAME_BYTES))


@given(st.binary(max_size=64))
def test_no_bytes_crash_the_reader(data: bytes) -> None:
    for wire in (Wire(), greeted()):
        try:
            wire.receive(data)
        except WireError:
            continue


@given(st.integers(min_value=0), st.integers(min_value=0, max_value=7))
def test_a_flipped_bit_is_an_answer_an_error_or_nothing(place: int, bit: int) -> None:
    wire = greeted()
    request_id, _ = wire.request(b"x")
    bad = bytearray(frame(request_id, b"body"))
    bad[place % len(bad)] ^= 1 << bit
    try:
        for event in wire.receive(bytes(bad)):
            assert isinstance(event, Answer)
            assert event.request_id == request_id
    except WireError:
        pass
