"""Good requests cut off and changed byte by byte, before a real gate."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest
from warded.v1 import GetObservationRequest, Item, Reason, Reply

from tests.conftest import TRAINER
from tests.support.calls import reason_codes
from tests.support.gate import Home
from tests.support.quiet import Quiet
from tests.support.raw_client import RawClient
from tests.support.stub_gate import StubGate

OBSERVE = "/warded.v1.Observation/GetObservation"
CHECK = "/warded.v1.Health/Check"
SEED = 20261130
CODES = reason_codes()


@pytest.fixture(scope="module")
def stub(module_home: Home) -> Iterator[StubGate]:
    """One gate for the file, over an executor that counts."""
    module_home.profile("trainer", TRAINER)
    with StubGate(module_home) as gate:
        yield gate


@pytest.fixture
def raw(stub: StubGate) -> Iterator[RawClient]:
    """A connection of the trainer's."""
    with RawClient(stub.home.path / "profile/trainer") as client:
        yield client


@pytest.fixture
def quiet(stub: StubGate) -> Iterator[Quiet]:
    """Nothing runs in the test, and only what was answered is on record."""
    with Quiet(stub) as made:
        yield made


def payload() -> bytes:
    """A batch that runs nothing, even when a byte of it is another."""
    items = [Item(trajectory_id=f"t{n}", finish=True, extra='{"a":[1]}') for n in "12"]
    data: bytes = GetObservationRequest(items=items).SerializeToString()
    return data


def fresh(raw: RawClient) -> bytes:
    """The request with a call id of its own; its payload comes last."""
    data: bytes = raw.request(OBSERVE, payload()).SerializeToString()
    assert data.endswith(payload())
    return data


def expect_typed(reply: Reply) -> str:
    """An answer, or a refusal whose reason has a name and whose code is the reason's,
    and never a bug of ours; that name."""
    name: str = Reason.Name(reply.reason)
    assert reply.code == CODES[name], reply
    assert name != "BUG", reply
    assert reply.code == 0 or reply.message
    return name


def expect_alive(raw: RawClient, quiet: Quiet) -> None:
    """The same connection still serves."""
    assert raw.call(CHECK).code == 0
    assert quiet.note(raw.ask(fresh(raw))).code == 0


def test_claim_01_every_prefix_of_a_request_is_refused(
    raw: RawClient, quiet: Quiet
) -> None:
    seen: Counter[str] = Counter()
    for size in range(len(fresh(raw))):
        reply = quiet.note(raw.ask(fresh(raw)[:size]))
        assert reply.code != 0, size
        seen[expect_typed(reply)] += 1
    assert {"MALFORMED", "TOKEN_MISSING", "FIELD_INVALID"} <= set(seen), seen
    expect_alive(raw, quiet)


def test_claim_01_every_prefix_of_a_payload_is_refused_or_means_less(
    raw: RawClient, quiet: Quiet
) -> None:
    whole = payload()
    half = len(whole) // 2  # the first of two equal items
    for size in range(len(whole)):
        reply = quiet.note(raw.call(OBSERVE, whole[:size]))
        assert (reply.code == 0) == (size == half), size
        expect_typed(reply)
    expect_alive(raw, quiet)


def test_claim_01_every_flipped_byte_is_harmless(raw: RawClient, quiet: Quiet) -> None:
    rng = random.Random(SEED)
    seen: Counter[str] = Counter()
    for place in range(len(fresh(raw))):
        for _ in range(3):
            data = bytearray(fresh(raw))
            data[place] ^= rng.randint(1, 255)
            seen[expect_typed(quiet.note(raw.ask(bytes(data))))] += 1
    assert {"MALFORMED", "TOKEN_MALFORMED", "METHOD_UNKNOWN"} <= set(seen), seen
    expect_alive(raw, quiet)


def test_claim_01_noise_in_frames_is_refused_typed(
    raw: RawClient, quiet: Quiet
) -> None:
    rng = random.Random(SEED)
    for size in [*range(64), *(rng.randint(64, 20_000) for _ in range(100))]:
        reply = quiet.note(raw.ask(rng.randbytes(size)))
        assert expect_typed(reply) != "REASON_UNSPECIFIED"
    expect_alive(raw, quiet)
