"""Contexts run short by those who ask and do not read: a refusal holds one too."""

from __future__ import annotations

import contextlib
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import NewHome
from tests.support.calls import HEALTH, OBSERVE, WHO, batch, reason, results
from tests.support.gate import Home
from tests.support.raw_client import RawClient
from tests.support.strangers import ask_without_reading, counted, wait_counted
from tests.support.stub_gate import StubGate

CLIENTS, EACH = 4, 16  # so many places each has in any crowd
PARKED = CLIENTS * EACH
CONTEXTS_BESIDE = 256  # above limits.in_flight
LONG_MS = 300_000
WINDOW = 4096  # what the system keeps for who does not read
FEW = 15  # replies left unread that cost nobody his connection
ROGUES = [f"rogue{n}" for n in range(4)]
PIPELINED = 40  # calls of one connection, asked in one go
BIG = batch("big 262144")
MUCH = batch(*["big 1048576"] * 4)  # more than systems keep for such a window
PATIENCE_S = 5.0  # half of what a connection may stand still when there is room


@pytest.fixture
def home(new_home: NewHome) -> Home:
    made = new_home()
    made.configure(f"limits:\n  in_flight: {PARKED}")
    for n in range(CLIENTS):
        made.profile(f"client{n}", "observe:python_code")
    for name in ROGUES:
        made.profile(name, "observe:python_code")
    return made


@pytest.fixture
def parked(stub: StubGate) -> Iterator[list[RawClient]]:
    """Clients whose calls fill limits.in_flight."""
    with contextlib.ExitStack() as stack:
        clients = []
        for n in range(CLIENTS):
            raw = RawClient(stub.home.path / f"profile/client{n}")
            clients.append(stack.enter_context(raw))
            for _ in range(EACH):
                held = raw.request(OBSERVE, batch("hold"), timeout_ms=LONG_MS)
                raw.send(held.SerializeToString())
        stub.wait_for(running=PARKED)
        yield clients


def check_friends(stub: StubGate, parked: list[RawClient]) -> None:
    """Health answers at once; what is parked goes on."""
    with RawClient(stub.home.path / "profile/client0") as late:
        late.set_patience(PATIENCE_S)
        assert late.call(HEALTH).code == 0
        assert reason(late.call(OBSERVE, batch("a"))) == "QUEUE_FULL"
    stub.do("finish")
    for client in parked:
        for _ in range(EACH):
            assert results(client.receive()[1]) == ["OK"]


@pytest.mark.parametrize("method", [WHO, HEALTH, OBSERVE])
def test_claim_07_refusals_that_are_not_read_do_not_hold_the_gate(
    stub: StubGate, parked: list[RawClient], method: str
) -> None:
    """Three connections without a token: of a method with a token, one without, and
    one that finds no room."""
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            raw = RawClient(stub.home.path / "profile/rogue0", window=WINDOW)
            ask_without_reading(stack.enter_context(raw), method)
        check_friends(stub, parked)
    wait_counted(stub, "conn", 1, "QUOTA")


def test_claim_07_several_who_do_not_read_do_not_hold_the_gate(
    stub: StubGate, parked: list[RawClient]
) -> None:
    with contextlib.ExitStack() as stack:
        for name in ROGUES:
            raw = RawClient(stub.home.path / "profile" / name, window=WINDOW)
            ask_without_reading(stack.enter_context(raw), WHO)
        check_friends(stub, parked)


def test_claim_07_who_reads_the_refusals_stays(
    stub: StubGate, parked: list[RawClient]
) -> None:
    """More calls than there are contexts, asked in one go and read afterwards."""
    with RawClient(stub.home.path / "profile/rogue0") as hasty:
        calls = 4 * CONTEXTS_BESIDE
        for _ in range(calls):
            hasty.send(hasty.request(OBSERVE, batch("a")).SerializeToString())
        for _ in range(calls):
            assert reason(hasty.receive()[1]) == "QUEUE_FULL"
        check_friends(stub, parked)


class Asker:
    """A connection that asks all that the systems take, for refusals of WHO."""

    def __init__(self, profile: Path) -> None:
        self._raw = RawClient(profile, window=WINDOW, token="none")
        request = self._raw.request(WHO).SerializeToString()
        head = struct.pack(">QI", len(request) + 4, 0x80000001)
        self._words = (head + request) * 64
        self._at = 0
        self._raw.set_patience(0)
        self.close = self._raw.close

    def turn(self, size: int) -> None:
        """Read so many bytes, or those that are there, and ask again."""
        while size > 0 and (got := self._raw.pull(size)):
            size -= got
        while sent := self._raw.push(self._words[self._at :]):
            self._at = (self._at + sent) % len(self._words)


class Crowd:
    """A thread of askers, each of whom reads so many bytes each `pause_s`; who is
    closed comes again."""

    def __init__(
        self, profiles: list[Path], each: int, size: int, pause_s: float
    ) -> None:
        self._profiles = profiles * each
        self._size, self._pause_s = size, pause_s
        self._askers: dict[int, Asker] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._go_on)
        self.closed = 0

    def _go_on(self) -> None:
        while not self._done.wait(self._pause_s):
            for n, profile in enumerate(self._profiles):
                self._one(n, profile)

    def _one(self, n: int, profile: Path) -> None:
        try:
            if n not in self._askers:
                self._askers[n] = Asker(profile)
            self._askers[n].turn(self._size)
        except OSError:
            self.closed += 1
            if n in self._askers:
                self._askers.pop(n).close()

    def __enter__(self) -> Crowd:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        for asker in self._askers.values():
            asker.close()


def ask_in_one_go(friend: RawClient, calls: int) -> int:
    """How many had room; the others are told so, and may be asked again."""
    for _ in range(calls):
        friend.send(friend.request(OBSERVE, BIG).SerializeToString())
    replies = [friend.receive()[1] for _ in range(calls)]
    assert {reason(reply) for reply in replies} <= {"REASON_UNSPECIFIED", "QUEUE_FULL"}
    return sum(reply.code == 0 for reply in replies)


@pytest.mark.parametrize(
    ("each", "size", "pause_s"),
    [(1, 64, 0.02), (40, 8192, 0.25)],
    ids=["trickle", "punctual"],
)
def test_claim_03_who_reads_what_he_asked_for_stays_in_any_crowd(
    new_home: NewHome, each: int, size: int, pause_s: float
) -> None:
    """Forty replies that wait for each other, beside four principals who hold all other
    contexts: they read next to nothing, or all of it now and then."""
    home = new_home()
    home.configure(f"limits:\n  in_flight: {4 * PARKED}\n  request_bytes: 536870912")
    for name in ["friend", *ROGUES]:
        home.profile(name, "observe:python_code")
    rogues = [home.path / "profile" / name for name in ROGUES]
    with StubGate(home) as gate:
        with (
            Crowd(rogues, each, size, pause_s) as crowd,
            RawClient(home.path / "profile/friend") as friend,
        ):
            time.sleep(3)
            friend.set_patience(2 * PATIENCE_S)
            left = 5 * PIPELINED
            for _ in range(left):
                left -= ask_in_one_go(friend, min(left, PIPELINED))
            assert left == 0
        print(f"{crowd.closed} of the others' connections were closed")
        gate.stop()


def test_claim_07_in_a_crowd_few_unread_replies_are_nobodys_fault(
    new_home: NewHome,
) -> None:
    """Together they leave too many unread, but none of them does."""
    home = new_home()
    home.configure("limits:\n  in_flight: 32\n  request_bytes: 536870912")
    names = [f"slow{n}" for n in range((32 + CONTEXTS_BESIDE // 2) // FEW + 1)]
    for name in names:
        home.profile(name, "observe:python_code")
    with StubGate(home) as gate, contextlib.ExitStack() as stack:
        slow = [RawClient(home.path / f"profile/{n}", window=WINDOW) for n in names]
        for raw in slow:
            stack.callback(raw.close)
            raw.send(raw.request(OBSERVE, MUCH).SerializeToString())
        for raw in slow:
            assert raw.read_length() > 4 << 20
        for raw in slow * FEW:
            raw.send(raw.request(WHO).SerializeToString())
        with RawClient(home.path / f"profile/{names[0]}") as late:
            assert late.call(HEALTH).code == 0  # after all that
            time.sleep(2)  # they are overdue, and it was looked for whom to close
            assert late.call(HEALTH).code == 0
        gate.stop()
        assert not counted(gate, "conn", ["QUOTA"])
