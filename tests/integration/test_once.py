"""However often a call is sent, and whatever dies meanwhile, it runs once at most."""

from __future__ import annotations

import collections
import contextlib
import os
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import NewHome
from tests.support.calls import OBSERVE, batch, reason, results
from tests.support.raw_client import RawClient
from tests.support.stub_gate import StubGate

CALLS = 1_000_000 if os.environ.get("WARDED_LONG") else 100_000
CLIENTS = 4
AHEAD = 256  # calls of one client that are sent and not yet answered
REPEATS = 0.1  # of all calls are sent twice at once, and as many again later
CRASHES = 5
RECONNECT_S = 30.0 if CALLS <= 100_000 else 300.0  # a long trail is long to read
UNSETTLED = ("OUTCOME_UNKNOWN",)  # cut off by a crash: it may have run


class Sender(threading.Thread):
    """Sends its share of the calls until each has its answer, whatever breaks."""

    def __init__(self, stub: StubGate, ran: Path, number: int, count: int) -> None:
        super().__init__(daemon=True)
        self._profile = stub.home.path / "profile" / f"trainer{number}"
        self._ran = ran
        self._number = number
        self._count = count
        self._dice = random.Random(number)
        self._raw = RawClient(self._profile)
        self._unanswered: dict[bytes, bytes] = {}  # call id -> envelope
        self._numbers: dict[int, bytes] = {}  # of the requests on this connection
        self.answers: dict[bytes, str] = {}  # call id -> OK or a reason
        self.repeats = 0
        self.wrong = ""

    def run(self) -> None:
        made = 0
        try:
            while made < self._count or self._unanswered:
                with contextlib.suppress(ConnectionError, OSError):
                    while made < self._count and len(self._numbers) < AHEAD:
                        self._send(self._make(made))
                        made += 1
                    self._receive()
                    continue
                self._reconnect()
        except Exception as error:  # is the finding
            self.wrong = repr(error)
        self._raw.close()

    def _make(self, index: int) -> bytes:
        name = f"{self._number}-{index}"
        request = self._raw.request(OBSERVE, batch(f"note {self._ran}\n{name}\n"))
        self._unanswered[request.call_id] = request.SerializeToString()
        return bytes(request.call_id)

    def _send(self, once: bytes) -> None:
        """Once, or twice in a row."""
        for _ in range(1 + (self._dice.random() < REPEATS)):
            self._numbers[self._raw.send(self._unanswered[once])] = once

    def _receive(self) -> None:
        number, reply = self._raw.receive()
        once = self._numbers.pop(number)
        told = "OK" if reply.code == 0 and results(reply) == ["OK"] else reason(reply)
        before = self.answers.setdefault(once, told)
        if before != told:
            self.repeats += 1
            self._check_repeat(once, before, told)
        envelope = self._unanswered.pop(once, None)
        if envelope is not None and self._dice.random() < REPEATS:
            self._unanswered[once] = envelope
            self._send(once)

    def _check_repeat(self, once: bytes, before: str, told: str) -> None:
        """What was OK is OK for ever, or was forgotten; nothing else changes."""
        if (before, told) != ("OK", "REPLY_EVICTED"):
            self.wrong = f"{once.hex()}: {before}, then {told}"

    def _reconnect(self) -> None:
        """To the gate that comes after; all that has no answer is sent again."""
        end = time.monotonic() + RECONNECT_S
        self._raw.close()
        while True:
            try:
                self._raw = RawClient(self._profile)
                break
            except (OSError, AssertionError):
                assert time.monotonic() < end, "no gate came back"
                time.sleep(0.05)
        self._numbers.clear()
        for once in list(self._unanswered):
            self._numbers[self._raw.send(self._unanswered[once])] = once


@pytest.fixture
def stub(new_home: NewHome) -> Iterator[StubGate]:
    home = new_home()
    for number in range(CLIENTS):
        home.profile(f"trainer{number}", "observe:python_code", ttl="24h")
    with StubGate(home, ready_s=2 * RECONNECT_S) as running:
        yield running


@pytest.mark.limit(7200 if CALLS > 100_000 else 300)
def test_claim_06_duplicates_and_restarts_run_nothing_twice(
    stub: StubGate, tmp_path: Path
) -> None:
    """The set of what ran is the set of the distinct ids, less what a crash cut off."""
    ran = tmp_path / "ran"
    share = CALLS // CLIENTS
    senders = [Sender(stub, ran, number, share) for number in range(CLIENTS)]
    for sender in senders:
        sender.start()
    for crash in range(1, CRASHES + 1):
        wait_until(senders, crash * CALLS // (CRASHES + 1))
        stub.do("kill")
        stub.wait_end()
        stub.close()
        stub.start()
    for sender in senders:
        sender.join(1800)
        assert not sender.is_alive(), f"{len(sender.answers)} answers of {share}"
    assert not any(s.wrong for s in senders), [s.wrong for s in senders if s.wrong]
    told = collections.Counter(how for s in senders for how in s.answers.values())
    times = collections.Counter(ran.read_text().split())
    print(f"{CALLS} calls: {dict(told)}, {len(times)} ran")
    assert max(times.values()) == 1
    assert told.total() == CALLS
    assert set(told) <= {"OK", "REPLY_EVICTED", *UNSETTLED}, told
    sure = told["OK"] + told["REPLY_EVICTED"]
    assert sure <= len(times) <= sure + told["OUTCOME_UNKNOWN"]
    assert told["OUTCOME_UNKNOWN"] <= CRASHES * CLIENTS * 2 * AHEAD


def wait_until(senders: list[Sender], answers: int) -> None:
    """As many calls have been answered."""
    while sum(len(s.answers) for s in senders) < answers:
        assert not any(s.wrong for s in senders), [s.wrong for s in senders]
        assert all(s.is_alive() or s.answers for s in senders)
        time.sleep(0.01)
