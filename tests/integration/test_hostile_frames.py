"""Greetings and frames cut off and changed byte by byte, before a real gate.

What is sent would run an action if it came through: none does.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from warded.v1 import Reply

from tests.conftest import TRAINER
from tests.integration.test_hostile_bytes import SEED, expect_typed
from tests.support.calls import HEALTH, OBSERVE, batch, results
from tests.support.gate import Home
from tests.support.quiet import Quiet
from tests.support.raw_client import GREETING, RawClient
from tests.support.stub_gate import StubGate

NUMBER = 0x80000001
LENGTH_BYTES, NUMBER_BYTES = 8, 4


@pytest.fixture(scope="module")
def stub(module_home: Home) -> Iterator[StubGate]:
    """One gate for the file, over an executor that counts."""
    module_home.profile("trainer", TRAINER)
    with StubGate(module_home) as gate:
        yield gate


@pytest.fixture
def profile(stub: StubGate) -> Path:
    return stub.home.path / "profile/trainer"


@pytest.fixture
def friend(profile: Path) -> Iterator[RawClient]:
    """Another connection, which must be served whatever comes."""
    with RawClient(profile) as raw:
        yield raw
        assert raw.call(HEALTH).code == 0


@pytest.fixture
def quiet(stub: StubGate, friend: RawClient) -> Iterator[Quiet]:
    """No job, no row call.begin."""
    assert friend.call(HEALTH).code == 0
    with Quiet(stub) as made:
        yield made


def frame(raw: RawClient) -> bytes:
    """A call that runs an action, as it goes over the wire."""
    body: bytes = raw.request(OBSERVE, batch("a")).SerializeToString()
    whole = struct.pack(">I", NUMBER) + body
    return struct.pack(">Q", len(whole)) + whole


def flips(data: bytes, places: range) -> Iterator[bytes]:
    """Each byte three times, each time another."""
    rng = random.Random(SEED)
    for place in places:
        for change in rng.sample(range(1, 256), 3):
            flipped = bytearray(data)
            flipped[place] ^= change
            yield bytes(flipped)


def send_and_finish(profile: Path, data: bytes, *, greet: bool = True) -> None:
    """On a connection of its own, which the gate then closes."""
    with RawClient(profile, greet=greet) as raw:
        raw.send_bytes(data)
        raw.finish()


def test_claim_01_the_frame_that_is_broken_below_runs_an_action(
    stub: StubGate, profile: Path
) -> None:
    jobs = stub.count().jobs
    with RawClient(profile, greet=False) as raw:
        raw.send_bytes(GREETING + frame(raw))
        raw.read_bytes(len(GREETING))
        number, reply = raw.receive()
    assert (number | 0x80000000, results(reply)) == (NUMBER, ["OK"])
    assert stub.count().jobs == jobs + 1


@pytest.mark.usefixtures("quiet")
def test_claim_01_every_prefix_of_a_greeting_starts_nothing(profile: Path) -> None:
    for size in range(len(GREETING)):
        send_and_finish(profile, GREETING[:size], greet=False)


@pytest.mark.usefixtures("quiet")
def test_claim_01_every_flipped_byte_of_a_greeting_closes_the_connection(
    profile: Path, friend: RawClient
) -> None:
    for greeting in flips(GREETING, range(len(GREETING))):
        with RawClient(profile, greet=False) as raw:
            raw.send_bytes(greeting + frame(friend))
            raw.expect_closed()


@pytest.mark.usefixtures("quiet")
def test_claim_01_every_prefix_of_a_frame_runs_nothing(
    profile: Path, friend: RawClient
) -> None:
    for size in range(len(frame(friend))):
        send_and_finish(profile, frame(friend)[:size])


@pytest.mark.usefixtures("quiet")
def test_claim_01_every_flipped_byte_of_a_length_runs_nothing(
    profile: Path, friend: RawClient
) -> None:
    """Longer: the rest never comes. Shorter: what is left of the call is refused, and
    what follows it is no frame."""
    for data in flips(frame(friend), range(LENGTH_BYTES)):
        send_and_finish(profile, data)


@pytest.mark.usefixtures("quiet")
def test_claim_01_a_request_without_its_first_bit_runs_nothing(
    profile: Path, friend: RawClient
) -> None:
    """It is then a hop on the way to a number, which the envelope does not have."""
    rng = random.Random(SEED)
    for _ in range(10):
        data = bytearray(frame(friend))
        data[LENGTH_BYTES] ^= 0x80 | rng.randrange(128)
        send_and_finish(profile, bytes(data))


@pytest.mark.parametrize("hops", [0, 1, 6, 7])
def test_claim_01_a_request_over_so_many_hops_is_answered_by_the_same_way(
    profile: Path, hops: int
) -> None:
    with RawClient(profile) as raw:
        way = struct.pack(f">{hops}I", *range(1, hops + 1)) + struct.pack(">I", NUMBER)
        body = way + raw.request(HEALTH).SerializeToString()
        raw.send_bytes(struct.pack(">Q", len(body)) + body)
        answer = raw.read_bytes(raw.read_length())
    assert answer.startswith(way)
    assert Reply.FromString(answer[len(way) :]).code == 0


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("hops", [8, 9, 19])
def test_claim_01_more_hops_than_the_protocol_has_run_nothing(
    profile: Path, friend: RawClient, hops: int
) -> None:
    """One hop more than REP takes: nobody answers, whoever asks; others are served."""
    way = struct.pack(f">{hops}I", *range(1, hops + 1)) + struct.pack(">I", NUMBER)
    body = way + frame(friend)[LENGTH_BYTES + NUMBER_BYTES :]
    send_and_finish(profile, struct.pack(">Q", len(body)) + body)


def test_claim_01_a_flipped_request_number_is_answered_under_that_number(
    stub: StubGate, profile: Path, friend: RawClient
) -> None:
    """The number is the caller's own to choose: the call runs, once."""
    jobs = stub.count().jobs
    places = range(LENGTH_BYTES + 1, LENGTH_BYTES + NUMBER_BYTES)
    made = list(flips(frame(friend), places))
    for data in made:
        fresh = data[: LENGTH_BYTES + NUMBER_BYTES] + frame(friend)[12:]
        with RawClient(profile) as raw:
            raw.send_bytes(fresh)
            number, reply = raw.receive()
        expect_typed(reply)
        assert number == struct.unpack_from(">I", data, LENGTH_BYTES)[0] & 0x7FFFFFFF
    assert stub.count().jobs == jobs + len(made)
