"""What requests are decoded into stays in limits.request_bytes while they are held."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator

import pytest
from warded.v1 import GetObservationRequest, Item

from tests.conftest import NewHome
from tests.support import strangers
from tests.support.calls import HEALTH, OBSERVE, batch, reason, results
from tests.support.raw_client import RawClient
from tests.support.stub_gate import StubGate

MIB = 1 << 20
BUDGET = 16 * MIB  # a quarter for each principal
GREEDY = [f"greedy{i}" for i in range(3)]
ITEMS = 1024
LOOK_S = 0.05

# Beside the requests: calls, connections, what malloc keeps, and what AddressSanitizer
# does of freed memory, here.
QUARANTINE_MIB = 8
BESIDE = 96 * MIB

SHARE = (BUDGET + 4 * 65536) // 4  # a quarter of all, with room for the largest frame
ROUND = 64  # at most so much is charged at a time for one byte more

HELD = Item(trajectory_id="t", action="hold", tool="python_code")


def unknown_fields() -> bytes:
    """A held item of 96 KiB in fields of 8 bytes, of no number known."""
    item = HELD.SerializeToString()
    item += b"\xa2\x38\x05xxxxx" * (12 * 1024)
    size = len(item)
    varint = bytes((size & 127 | 128, size >> 7 & 127 | 128, size >> 14))
    return b"\x0a" + varint + bytes(item)


def filled(size: int, action: str = "a") -> bytes:
    """An item, and beside it `size` bytes in one field of no number known: decoding
    copies them."""
    digits = [size >> shift & 127 | 128 for shift in (0, 7, 14)] + [size >> 21]
    return batch(action) + b"\xa2\x38" + bytes(digits) + bytes(size)


def empty_items() -> bytes:
    """A held item, and as many without anything as one request may have."""
    items = [HELD, *[Item()] * (ITEMS - 1)]
    return bytes(GetObservationRequest(items=items).SerializeToString())


@pytest.fixture
def gate(new_home: NewHome, monkeypatch: pytest.MonkeyPatch) -> Iterator[StubGate]:
    """Over a stub executor, with 16 MiB for all requests together."""
    strangers.keep_little_freed(monkeypatch, QUARANTINE_MIB)
    home = new_home()
    home.configure(
        f"limits:\n  frame_bytes: {BUDGET // 4}\n  request_bytes: {BUDGET}\n"
    )
    for name in ("trainer", *GREEDY):
        home.profile(name, "observe:python_code")
    with StubGate(home) as running:
        yield running


class Greedy:
    """Asks for what is held, on a new connection when the gate has closed the last."""

    def __init__(self, gate: StubGate, name: str) -> None:
        self._gate = gate
        self._profile = gate.home.path / "profile" / name
        self._raw = RawClient(self._profile)

    def ask(self, payload: bytes) -> str:
        """What becomes of one more: "held", "closed", or the reason of its refusal."""
        running = self._gate.count().running
        try:
            self._raw.send(self._raw.request(OBSERVE, payload).SerializeToString())
            return self._hear(running)
        except OSError:  # not even its bytes fit
            self._raw.close()
            self._raw = RawClient(self._profile)
            return "closed"

    def _hear(self, running: int) -> str:
        self._raw.set_patience(LOOK_S)
        for _ in range(600):
            try:
                return reason(self._raw.receive()[1])
            except TimeoutError:
                if self._gate.count().running > running:
                    return "held"
        raise AssertionError("neither held nor answered")

    def close(self) -> None:
        self._raw.close()


@pytest.mark.parametrize(
    ("payload", "each"),
    [(unknown_fields(), 40), (empty_items(), 100)],
    ids=["unknown fields", "empty items"],
)
def test_claim_03_held_requests_are_decoded_within_the_budget(
    gate: StubGate, payload: bytes, each: int
) -> None:
    before = strangers.resident(gate.pid)
    said: Counter[str] = Counter()
    crowd = [Greedy(gate, name) for name in GREEDY]
    for greedy in crowd:
        for _ in range(each):
            said[greedy.ask(payload)] += 1
    grown = strangers.resident(gate.pid) - before
    print(f"{len(payload)} bytes, {dict(said)}: {grown / MIB:.1f} MiB")
    assert said.keys() <= {"held", "closed", "QUOTA"}, said
    assert said["held"] >= len(GREEDY)
    assert said["QUOTA"] > 0
    assert grown < BUDGET + BESIDE
    with RawClient(gate.home.path / "profile/trainer") as raw:
        assert raw.call(HEALTH).code == 0
        assert results(raw.call(OBSERVE, batch("print(1)"))) == ["OK"]
    gate.do("finish")
    for greedy in crowd:
        greedy.close()
    gate.wait_for(running=0)
    again = Greedy(gate, GREEDY[0])  # all is given back
    until = time.monotonic() + strangers.PATIENCE_S
    for _ in range(said["held"] // len(GREEDY)):
        while (got := again.ask(payload)) == "QUOTA":
            assert time.monotonic() < until
        assert got == "held"
    gate.do("finish")
    again.close()


def most_that_fits(raw: RawClient) -> int:
    """How many bytes may be filled, and not one more."""
    fits, too_large = 2 * MIB, 3 * MIB
    while too_large - fits > 1:
        size = (fits + too_large) // 2
        if raw.call(OBSERVE, filled(size)).code == 0:
            fits = size
        else:
            too_large = size
    return fits


def test_claim_03_what_can_never_fit_is_too_large_at_once(gate: StubGate) -> None:
    """With the least request_bytes: whoever is told to wait would wait for ever."""
    with RawClient(gate.home.path / "profile/trainer") as raw:
        most = most_that_fits(raw)
        for size in (most - 1, most):
            assert results(raw.call(OBSERVE, filled(size))) == ["OK"]
        largest = BUDGET // 4 - 1024
        for size in (most + 1, largest):
            request = raw.request(OBSERVE, filled(size))
            reply = raw.ask(request)
            assert (reason(reply), reply.retry_after_ms) == ("TOO_LARGE", 0)
            assert f"limits.request_bytes ({BUDGET})" in reply.message
            told = re.search(r"of (\d+) bytes is decoded into (\d+)", reply.message)
            assert told is not None
            assert int(told[1]) == len(request.SerializeToString())
            if size == most + 1:
                assert SHARE < int(told[1]) + int(told[2]) <= SHARE + ROUND
        raw.send(raw.request(OBSERVE, batch("hold")).SerializeToString())
        gate.wait_for(running=1)  # what fits beside nothing does not beside that
        with RawClient(gate.home.path / "profile/trainer") as second:
            reply = second.call(OBSERVE, filled(most))
            assert reason(reply) == "QUOTA"
            assert reply.retry_after_ms > 0
            assert reason(second.call(OBSERVE, filled(largest))) == "TOO_LARGE"
        gate.do("finish")
