"""Several principals take every place that they get: a friend's calls are served."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import pytest

from tests.conftest import NewHome
from tests.support.calls import HEALTH, OBSERVE, batch, reason, results
from tests.support.raw_client import RawClient
from tests.support.stub_gate import StubGate

IN_FLIGHT = 1024
# Each gets as many as are then free, without the sixteenth kept for who has few;
# the first two a quarter, which is less.
PLACES = (320, 320, 160, 80, 40, 20)
AT_LAST = 4  # of them, one by one
GREEDY = [f"greedy{i}" for i in range(len(PLACES))]
UNREAD = 180  # of each: more than places for calls, and contexts are left
LONG_MS = 300_000
WINDOW = 4096  # what the system keeps for who does not read
MUCH = batch(*["big 1048576"] * 4)  # more than systems keep for such a window
CALLS = 100
LOOK_S = 0.02


@pytest.fixture
def gate(new_home: NewHome) -> Iterator[StubGate]:
    """Whose places a test can fill."""
    home = new_home()
    home.configure(f"limits:\n  in_flight: {IN_FLIGHT}\n")
    for name in ("friend", *GREEDY):
        home.profile(name, "observe:python_code")
    with StubGate(home) as running:
        yield running


def p99_ms(friend: RawClient) -> float:
    """Of calls each of which must be served."""
    took = []
    for _ in range(CALLS):
        start = time.monotonic()
        assert results(friend.call(OBSERVE, batch("a"))) == ["OK"]
        took.append(time.monotonic() - start)
    return sorted(took)[CALLS * 99 // 100] * 1000


def report(quiet_ms: float, beside: str, beside_ms: float) -> None:
    """Print the figures."""
    print(
        f"p99 of a friend: quiet {quiet_ms:.1f} ms, beside {beside} {beside_ms:.1f} ms"
    )


def hold(raw: RawClient) -> None:
    """Ask for what goes on until it is ended."""
    request = raw.request(OBSERVE, batch("hold"), timeout_ms=LONG_MS)
    raw.send(request.SerializeToString())


def hold_more(gate: StubGate, raw: RawClient, running: int) -> str:
    """One more beside those that run: "held", or why it is refused."""
    hold(raw)
    raw.set_patience(LOOK_S)
    until = time.monotonic() + 30
    while gate.count().running == running:
        assert time.monotonic() < until
        with contextlib.suppress(TimeoutError):
            reply = raw.receive()[1]
            assert reply.retry_after_ms > 0
            return reason(reply)
    return "held"


def test_claim_03_who_runs_all_that_it_may_leaves_places(gate: StubGate) -> None:
    """In the worst order: each has what it gets before the next one comes."""
    folder = gate.home.path / "profile"
    running = 0
    with contextlib.ExitStack() as stack:
        friend = stack.enter_context(RawClient(folder / "friend"))
        quiet_ms = p99_ms(friend)
        for name, places in zip(GREEDY, PLACES, strict=True):
            raw = stack.enter_context(RawClient(folder / name))
            for _ in range(places - AT_LAST):
                hold(raw)
            most = running + places
            running = most - AT_LAST
            gate.wait_for(running=running)
            while (said := hold_more(gate, raw, running)) == "held":
                running += 1
            assert said == ("QUOTA" if places == PLACES[0] else "QUEUE_FULL")
            assert running <= most
        report(quiet_ms, f"{running} calls", p99_ms(friend))
        gate.do("finish")


def test_claim_03_who_does_not_read_leaves_places(gate: StubGate) -> None:
    """Answers and refusals that wait to be read, of calls with a token and without."""
    folder = gate.home.path / "profile"
    with contextlib.ExitStack() as stack:
        friend = stack.enter_context(RawClient(folder / "friend"))
        quiet_ms = p99_ms(friend)
        crowd = [RawClient(folder / name, window=WINDOW) for name in GREEDY]
        for raw in crowd:
            stack.callback(raw.close)
            raw.send(raw.request(OBSERVE, MUCH).SerializeToString())
            assert raw.read_length() > 4 << 20
        for i, raw in enumerate(crowd):
            token = raw.token if i % 2 else ""
            for _ in range(UNREAD):
                asked = raw.request(OBSERVE, batch("b"), token=token)
                raw.send(asked.SerializeToString())
        unread = len(crowd) * UNREAD
        report(quiet_ms, f"{unread} unread replies", p99_ms(friend))
        assert friend.call(HEALTH).code == 0
