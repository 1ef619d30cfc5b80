"""What a gate takes, and until when: sizes, queues, the deny list, a stop."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from warded.v1 import GetObservationReply, Reason

from tests.conftest import NewHome
from tests.support.calls import HEALTH, OBSERVE, WHO, batch, reason, results
from tests.support.gate import Home
from tests.support.raw_client import RawClient
from tests.support.stub_gate import StubGate

PATIENCE_S = 30.0


@pytest.fixture
def home(new_home: NewHome) -> Home:
    made = new_home()
    made.profile("trainer", "observe:python_code")
    made.profile("other", "observe:python_code")
    return made


@pytest.fixture
def stub(home: Home) -> Iterator[StubGate]:
    with StubGate(home, grace_ms=300) as gate:
        yield gate


def test_what_waits_is_bounded(new_home: NewHome) -> None:
    home = new_home()
    home.configure("limits:\n  queue: 2")
    home.profile("trainer", "observe:python_code")
    with StubGate(home) as stub, RawClient(home.path / "profile/trainer") as raw:
        reply = raw.call(OBSERVE, batch("queue", "queue", "a", "a"), timeout_ms=500)
        assert results(reply) == ["BUSY"] * 4
        answers = GetObservationReply.FromString(reply.payload).results
        names = [Reason.Name(r.reason) for r in answers]
        assert names == ["QUEUE_TIMEOUT"] * 2 + ["QUEUE_FULL"] * 2
        assert stub.count().jobs == 2


@pytest.mark.parametrize("beyond", [1, 60_000])
def test_a_request_slightly_too_large_is_told_so(
    caller: RawClient, beyond: int
) -> None:
    assert reason(caller.ask(bytes(16 * 1024 * 1024 + beyond))) == "TOO_LARGE"
    assert caller.call(WHO).code == 0


def test_a_request_far_too_large_costs_the_connection_only(
    stub: StubGate, caller: RawClient
) -> None:
    with pytest.raises(OSError, match=r".*"):
        caller.ask(bytes(17 * 1024 * 1024))
    with RawClient(stub.home.path / "profile/other") as other:
        assert other.call(WHO).code == 0


def test_a_denied_identity_loses_its_connections_and_gets_no_others(
    stub: StubGate, caller: RawClient
) -> None:
    assert caller.call(WHO).code == 0
    denied = "spiffe://warded.local/ns/default/owner/root/client/trainer"
    (stub.home.path / "state/gate/deny").write_text(f"{denied}\n")
    stub.do("reload")
    caller.expect_closed()
    with RawClient(stub.home.path / "profile/other") as other:
        assert other.call(WHO).code == 0
    with pytest.raises(OSError, match=r".*"):
        RawClient(stub.home.path / "profile/trainer")


def test_a_stop_drains_and_answers_draining(stub: StubGate, caller: RawClient) -> None:
    number = caller.send(caller.request(OBSERVE, batch("hold")).SerializeToString())
    stub.wait_for(running=1)
    stub.do("stop")
    reply = caller.call(OBSERVE, batch("a"))
    until = time.monotonic() + PATIENCE_S
    while reply.code == 0:  # the gate has not heard of it yet
        assert time.monotonic() < until
        reply = caller.call(OBSERVE, batch("a"))
    assert reason(reply) == "DRAINING"
    assert reply.retry_after_ms > 0
    assert caller.call(HEALTH).code == 0
    got, ended = caller.receive()
    assert got == number
    assert reason(ended) == "CANCELLED"
    assert stub.wait_end() == "exit 0"
    path: Path = stub.home.path / "run/address"
    assert not path.exists()
