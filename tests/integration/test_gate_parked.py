"""Parked calls: thousands that wait, few threads, and a way out of each."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest
from warded.v1 import HealthCheckReply, Reply

from tests.conftest import NewHome
from tests.support.calls import HEALTH, OBSERVE, batch, reason, results, rows
from tests.support.gate import Home
from tests.support.raw_client import RawClient
from tests.support.stub_gate import StubGate

CLIENTS = 5
EACH = 400
CALLS = CLIENTS * EACH
IN_FLIGHT = 2560  # without the sixteenth that is kept: as many free as each has
MOST_THREADS = 32
LONG_MS = 300_000
PATIENCE_S = 20.0


@pytest.fixture
def home(new_home: NewHome) -> Home:
    made = new_home()
    made.configure(f"limits:\n  in_flight: {IN_FLIGHT}")
    for n in range(CLIENTS + 1):
        made.profile(f"client{n}", "observe:python_code")
    return made


@pytest.fixture
def stub(home: Home) -> Iterator[StubGate]:
    with StubGate(home, grace_ms=300) as gate:
        yield gate


def open_clients(stub: StubGate) -> list[RawClient]:
    folder = stub.home.path / "profile"
    return [RawClient(folder / f"client{n}") for n in range(CLIENTS)]


def park(client: RawClient, calls: int) -> None:
    for _ in range(calls):
        request = client.request(OBSERVE, batch("hold"), timeout_ms=LONG_MS)
        client.send(request.SerializeToString())


def health(client: RawClient) -> HealthCheckReply:
    """Asked between other replies: those that come first are for others."""
    number = client.send(client.request(HEALTH).SerializeToString())
    got, reply = client.receive()
    assert got == number
    return HealthCheckReply.FromString(reply.payload)


def test_claim_07_two_thousand_parked_actions(stub: StubGate) -> None:
    clients = open_clients(stub)
    for client in clients:
        park(client, EACH)
    stub.wait_for(running=CALLS)

    assert stub.threads() < MOST_THREADS
    end = time.monotonic() + PATIENCE_S
    well = health(clients[0])
    while (well.running, well.in_flight) != (CALLS, CALLS + 1):
        assert time.monotonic() < end, well  # it hears of each by and by
        well = health(clients[0])
    assert well.status == HealthCheckReply.SERVING

    more: Reply = clients[0].call(OBSERVE, batch("a"))
    assert reason(more) == "QUEUE_FULL"
    assert more.retry_after_ms > 0
    assert f"limits.in_flight ({IN_FLIGHT}) has places free" in more.message
    with RawClient(stub.home.path / f"profile/client{CLIENTS}") as late:
        assert results(late.call(OBSERVE, batch("a"))) == ["OK"]

    stub.do("finish")
    for client in clients:
        for _ in range(EACH):
            assert results(client.receive()[1]) == ["OK"]
        client.close()
    refused = rows(stub.home, "--event", "call.refused")
    assert len(refused) == 1
    assert "QUEUE_FULL" in refused[0]


def test_claim_07_a_client_that_vanishes_has_its_actions_killed(stub: StubGate) -> None:
    folder = stub.home.path / "profile"
    with RawClient(folder / "client1") as other:
        park(other, 1)
        gone = RawClient(folder / "client0")
        park(gone, EACH)
        stub.wait_for(running=EACH + 1)
        gone.close()
        stub.wait_for(running=1, cancelled=EACH)
        stub.do("finish")
        assert results(other.receive()[1]) == ["OK"]
        while health(other).in_flight > 1:
            pass


@pytest.mark.parametrize(
    ("grace_ms", "grace_s"),
    [(1_000, 1.0), (0, 3.0)],  # 0: the gate's own
)
def test_claim_07_a_client_that_vanishes_has_its_grace(
    home: Home, grace_ms: int, grace_s: float
) -> None:
    """Between the cut and the kill lies the grace, on our clock and on record."""
    with StubGate(home, grace_ms=grace_ms) as stub:
        gone = RawClient(home.path / "profile/client0")
        park(gone, 1)
        stub.wait_for(running=1)
        cut = time.monotonic()
        gone.close()
        while stub.count().cancelled == 0:
            assert time.monotonic() < cut + grace_s + PATIENCE_S
        assert time.monotonic() - cut > grace_s - 0.001  # it counts whole ms
        with RawClient(home.path / "profile/client1") as other:
            while health(other).in_flight > 1:
                pass
        begin, end = map(json.loads, rows(home, "--method", OBSERVE))
        assert end["reason"] == "CANCELLED"
        assert end["mono_ns"] - begin["mono_ns"] >= grace_s * 1e9


def test_one_principal_has_a_quarter_of_the_contexts(stub: StubGate) -> None:
    share = (IN_FLIGHT + 256) // 4
    with RawClient(stub.home.path / "profile/client0") as raw:
        park(raw, share)
        stub.wait_for(running=share)
        late = raw.send(raw.request(OBSERVE, batch("a")).SerializeToString())
        number, reply = raw.receive()
        assert number == late
        assert reason(reply) == "QUOTA"
        assert str(share) in reply.message
        assert reply.retry_after_ms > 0
        assert health(raw).status == HealthCheckReply.SERVING
        with RawClient(stub.home.path / "profile/client1") as other:
            assert results(other.call(OBSERVE, batch("a"))) == ["OK"]
        stub.do("finish")
