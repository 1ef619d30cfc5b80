"""Calls through a real gate over a stub executor: once, bounded, on the record."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from warded.v1 import (
    GetObservationReply,
    Reason,
    Request,
)

from tests.conftest import NewHome
from tests.support.calls import HEALTH, OBSERVE, WHO, batch, reason, results, rows
from tests.support.gate import Home
from tests.support.raw_client import RawClient, call_id
from tests.support.stub_gate import StubGate

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS


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


def test_a_batch_answers_in_its_order(caller: RawClient) -> None:
    reply = caller.call(OBSERVE, batch("a", "fail", "b"))
    got = GetObservationReply.FromString(reply.payload).results
    assert results(reply) == ["OK", "INFRA", "OK"]
    assert [r.content[0].text if r.content else None for r in got] == ["a", None, "b"]


@pytest.mark.parametrize(
    ("envelope", "want"),
    [
        (b"", "FIELD_INVALID"),
        (b"\xff\xff\xff", "MALFORMED"),
        (b"\x0a", "MALFORMED"),
        (Request(version=2, call_id=call_id(), method=WHO), "FIELD_INVALID"),
        (Request(version=1, call_id=b"x" * 16, method=WHO), "FIELD_INVALID"),
        (Request(version=1, call_id=call_id(), method=""), "FIELD_INVALID"),
        (Request(version=1, call_id=call_id(), method=WHO), "TOKEN_MISSING"),
        (Request(version=1, call_id=call_id(), method="/no/such"), "TOKEN_MISSING"),
    ],
)
def test_a_bad_envelope_is_answered_and_harms_nobody(
    caller: RawClient, envelope: bytes | Request, want: str
) -> None:
    assert reason(caller.ask(envelope)) == want
    assert caller.call(WHO).code == 0


@pytest.mark.parametrize(
    ("method", "asked", "want"),
    [
        ("/warded.v1.Token/Issue", {}, "METHOD_UNKNOWN"),
        ("/warded.v1.Nope/Nope", {}, "METHOD_UNKNOWN"),
        ("/warded.v1.Observation/Nope", {}, "SCOPE_MISSING"),
        ("/warded.v1.Observation/CallTool", {}, "NOT_BUILT"),
        (OBSERVE, {"kind": Request.NEXT}, "NOT_BUILT"),
        (OBSERVE, {"payload": batch("a"), "timeout_ms": 600_001}, "FIELD_INVALID"),
        (OBSERVE, {"payload": batch("a"), "timeout_ms": 2**64 - 1}, "FIELD_INVALID"),
        (OBSERVE, {"payload": b"\xff"}, "MALFORMED"),
        (OBSERVE, {"payload": b""}, "FIELD_INVALID"),
        (OBSERVE, {"payload": batch(*["a"] * 1025)}, "FIELD_INVALID"),
    ],
)
def test_a_refused_call_runs_nothing_and_is_on_record(
    stub: StubGate,
    caller: RawClient,
    method: str,
    asked: dict[str, object],
    want: str,
) -> None:
    reply = caller.call(method, **asked)
    assert reason(reply) == want
    assert stub.count().jobs == 0
    written = [row for row in rows(stub.home) if f'"{want}"' in row]
    assert len(written) == 1
    assert '"refused"' in written[0]


def test_an_ended_call_id_is_never_run_again(stub: StubGate, caller: RawClient) -> None:
    first = caller.request(OBSERVE, batch("a"))
    assert results(caller.ask(first)) == ["OK"]
    assert results(caller.ask(first)) == ["OK"], "its reply is kept"
    other = caller.request(OBSERVE, batch("b"), call_id=first.call_id)
    assert reason(caller.ask(other)) == "CALL_ID_REUSED"
    assert stub.count().jobs == 1


def test_a_running_call_id_joins_the_call(stub: StubGate, caller: RawClient) -> None:
    request = caller.request(OBSERVE, batch("hold"))
    first = caller.send(request.SerializeToString())
    stub.wait_for(running=1)
    second = caller.send(request.SerializeToString())
    stub.do("finish")
    replies = dict(caller.receive() for _ in range(2))
    assert sorted(replies) == sorted([first, second])
    assert [results(reply) for reply in replies.values()] == [["OK"]] * 2
    assert stub.count().jobs == 1


def test_the_same_id_of_another_principal_is_another_call(
    stub: StubGate, caller: RawClient
) -> None:
    request = caller.request(OBSERVE, batch("a"))
    assert results(caller.ask(request)) == ["OK"]
    with RawClient(stub.home.path / "profile/other") as other:
        same = other.request(OBSERVE, batch("a"), call_id=request.call_id)
        assert results(other.ask(same)) == ["OK"]


@pytest.mark.parametrize(
    ("skew_ms", "want"),
    [
        (-HOUR_MS, "CALL_ID_EXPIRED"),
        (HOUR_MS, "CLOCK_SKEW"),
        (2 * MINUTE_MS, "CLOCK_SKEW"),
    ],
)
def test_claim_06_a_call_dated_wrongly_does_not_run_and_learns_the_time(
    stub: StubGate, caller: RawClient, skew_ms: int, want: str
) -> None:
    now = caller.call(WHO).now_ms
    reply = caller.call(OBSERVE, batch("a"), call_id=call_id(now + skew_ms))
    assert reason(reply) == want
    assert reply.message.count("T") >= 2
    assert stub.count().jobs == 0
    assert results(caller.call(OBSERVE, batch("a"), call_id=call_id(reply.now_ms))) == [
        "OK"
    ]


def test_call_ids_are_known_after_a_restart(stub: StubGate) -> None:
    with RawClient(stub.home.path / "profile/trainer") as raw:
        ended = raw.request(OBSERVE, batch("a"))
        assert results(raw.ask(ended)) == ["OK"]
        cut = raw.request(OBSERVE, batch("hold"))
        raw.send(cut.SerializeToString())
        stub.wait_for(running=1)
    stub.do("kill")
    assert stub.wait_end() == "signal 9"
    stub.close()
    stub.start()
    with RawClient(stub.home.path / "profile/trainer") as raw:
        assert reason(raw.ask(ended)) == "REPLY_EVICTED"
        assert reason(raw.ask(cut)) == "OUTCOME_UNKNOWN"
    assert stub.count().jobs == 0
    assert len(rows(stub.home, "--event", "gate.recovered")) == 1


def test_cancel_ends_the_call_and_is_idempotent(
    stub: StubGate, caller: RawClient
) -> None:
    request = caller.request(OBSERVE, batch("hold", "quick"))
    first = caller.send(request.SerializeToString())
    stub.wait_for(running=1)
    with RawClient(stub.home.path / "profile/other") as other:
        foreign = other.call("", kind=Request.CANCEL, call_id=request.call_id)
        assert foreign.code == 0
    assert stub.count().cancelled == 0
    cancel = caller.request("", kind=Request.CANCEL, call_id=request.call_id)
    numbers = {first: "CANCELLED", caller.send(cancel.SerializeToString()): ""}
    for _ in range(2):
        number, reply = caller.receive()
        assert reason(reply) == (numbers.pop(number) or "REASON_UNSPECIFIED")
    assert stub.count().cancelled == 1
    assert caller.ask(cancel).code == 0
    asked = [json.loads(row) for row in rows(stub.home, "--event", "call.cancel")]
    assert len(asked) == 3
    assert {row["outcome"] for row in asked} == {"ok"}
    ids = [
        (stub.home.path / "profile" / name / "token").read_text()[5:15]
        for name in ("other", "trainer", "trainer")
    ]
    assert [row["token_id"] for row in asked] == ids


def test_at_the_deadline_the_batch_is_split(stub: StubGate, caller: RawClient) -> None:
    reply = caller.call(OBSERVE, batch("quick", "hold", "queue"), timeout_ms=4000)
    assert results(reply) == ["OK", "TIMEOUT", "BUSY"]
    assert stub.count().running == 0


def test_items_of_one_trajectory_run_in_order(
    stub: StubGate, caller: RawClient
) -> None:
    number = caller.send(
        caller.request(OBSERVE, batch("hold", "a", "b", same="t")).SerializeToString()
    )
    stub.wait_for(running=1)
    assert stub.count().jobs == 1
    stub.do("finish")
    got, reply = caller.receive()
    assert got == number
    assert results(reply) == ["OK", "OK", "OK"]


def test_items_behind_one_that_takes_all_the_time_are_busy(
    stub: StubGate, caller: RawClient
) -> None:
    reply = caller.call(OBSERVE, batch("hold", "a", "b", same="t"), timeout_ms=500)
    assert results(reply) == ["TIMEOUT", "BUSY", "BUSY"]
    assert stub.count().jobs == 1


def test_when_the_executor_dies_actions_are_infra_and_the_gate_goes_on(
    stub: StubGate, caller: RawClient
) -> None:
    number = caller.send(
        caller.request(OBSERVE, batch("hold", "hold")).SerializeToString()
    )
    stub.wait_for(running=2)
    stub.do("die")
    got, reply = caller.receive()
    assert got == number
    assert results(reply) == ["INFRA", "INFRA"]
    answers = GetObservationReply.FromString(reply.payload).results
    assert {r.reason for r in answers} == {Reason.EXECUTOR_DIED}
    assert not any(r.content or r.done for r in answers)
    without = GetObservationReply.FromString(caller.call(OBSERVE, batch("a")).payload)
    assert without.results[0].reason == Reason.SANDBOX_UNAVAILABLE
    assert caller.call(HEALTH).code == 0
    stub.do("revive")
    while results(caller.call(OBSERVE, batch("a"))) == ["INFRA"]:
        pass
    assert stub.count().jobs >= 1
