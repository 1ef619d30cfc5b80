"""Our client asks a gate again, whose connection was cut: the call has run once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
import warded
from warded.v1 import observation_wd as pb

from tests.support.calls import OBSERVE, rows, wait_for_rows
from tests.support.relay import Relay
from tests.support.stub_gate import StubGate

MANY = 40


@pytest.fixture
def relay(stub: StubGate) -> Iterator[Relay]:
    """Between the gate and its trainer."""
    with closing(Relay(stub.home.path / "profile/trainer")) as between:
        yield between


@pytest.fixture
def trainer(stub: StubGate, relay: Relay) -> Iterator[pb.ObservationStub]:
    """Who goes by the relay."""
    with warded.connect(stub.home.path / "profile/trainer") as channel:
        yield pb.ObservationStub(channel)


def ask(trainer: pb.ObservationStub, action: str) -> Any:
    item = pb.Item(action=action, tool="python_code", trajectory_id="t")
    return trainer.GetObservation.future(
        pb.GetObservationRequest(items=[item]), timeout=60
    )


def said(call: Any) -> str:
    outcome = warded.read_outcome(call.result().results[0])
    assert outcome.is_ok
    return outcome.stdout


def calls(stub: StubGate, event: str) -> list[str]:
    """Ids of the calls that have such a row."""
    found = rows(stub.home, "--event", event, "--method", OBSERVE)
    return [json.loads(row)["call_id"] for row in found]


def test_claim_06_call_cut_off_while_it_runs_is_joined(
    stub: StubGate, relay: Relay, trainer: pb.ObservationStub
) -> None:
    call = ask(trainer, "hold")
    stub.wait_for(running=1)
    relay.cut()
    wait_for_rows(stub.home, "call.repeat")
    stub.do("finish")
    said(call)
    assert stub.count().jobs == 1
    assert calls(stub, "call.begin") == calls(stub, "call.end") == [call.call_id]


def test_claim_06_reply_that_got_lost_is_given_again(
    stub: StubGate, relay: Relay, trainer: pb.ObservationStub
) -> None:
    said(ask(trainer, "first"))
    relay.deaf = True
    call = ask(trainer, "second")
    wait_for_rows(stub.home, "call.end", 2)
    relay.cut()
    assert said(call) == "second"
    assert stub.count().jobs == 2
    assert calls(stub, "call.begin").count(call.call_id) == 1


def test_claim_06_many_calls_of_one_connection_are_asked_for_again(
    stub: StubGate, relay: Relay, trainer: pb.ObservationStub
) -> None:
    said(ask(trainer, "first"))
    relay.deaf = True
    sent = [ask(trainer, str(number)) for number in range(MANY)]
    wait_for_rows(stub.home, "call.end", MANY + 1)
    relay.cut()
    assert [said(call) for call in sent] == [str(n) for n in range(MANY)]
    assert stub.count().jobs == MANY + 1


def test_claim_06_call_cut_off_by_the_gates_end_is_of_unknown_outcome(
    stub: StubGate, trainer: pb.ObservationStub
) -> None:
    call = ask(trainer, "hold")
    stub.wait_for(running=1)
    stub.do("kill")
    assert stub.wait_end() == "signal 9"
    with pytest.raises(warded.OutcomeUnknown) as caught:
        call.result()
    assert caught.value.may_have_run
    stub.close()
    stub.start()
    assert calls(stub, "call.begin") == [call.call_id]
