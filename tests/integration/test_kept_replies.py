"""At most once, reply kept: who asks again is told what the call was told."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from warded.v1 import IssueReply, IssueRequest, Request, RevokeRequest

from tests.conftest import NewHome
from tests.support.calls import OBSERVE, batch, reason, results, rows, wait_for_rows
from tests.support.raw_client import RawClient, call_id
from tests.support.skew import off
from tests.support.stub_gate import StubGate

SMALLEST = 16 << 20  # of limits.reply_bytes; a principal has a quarter of it
ISSUE = "/warded.v1.Token/Issue"
REVOKE = "/warded.v1.Token/Revoke"


@pytest.fixture
def stub(new_home: NewHome) -> Iterator[StubGate]:
    home = new_home()
    home.profile("trainer", "observe:python_code")
    home.profile("other", "observe:python_code")
    home.profile("boss", "token:issue", "token:revoke", "observe:*")
    with home.config.open("a") as config:
        config.write(f"\nlimits:\n  reply_bytes: {SMALLEST}\n")
    with StubGate(home) as running:
        yield running


@pytest.fixture
def caller(stub: StubGate) -> Iterator[RawClient]:
    with RawClient(profile(stub)) as raw:
        yield raw


def profile(stub: StubGate, name: str = "trainer") -> Path:
    return stub.home.path / "profile" / name


def test_claim_06_a_kept_reply_is_the_first_one_byte_for_byte(
    stub: StubGate, caller: RawClient
) -> None:
    request = caller.request(OBSERVE, batch("a", "fail", "c"))
    first = caller.ask(request)
    with RawClient(profile(stub)) as later:
        again = later.ask(request)
    assert again.payload == first.payload
    assert again.call_id == first.call_id
    assert again.head.seq >= first.head.seq
    assert stub.count().jobs == 3


def test_claim_06_a_failure_is_kept_as_well(stub: StubGate, caller: RawClient) -> None:
    request = caller.request(OBSERVE, batch("hold"))
    number = caller.send(request.SerializeToString())
    stub.wait_for(running=1)
    cancel = caller.request(
        "", kind=Request.CANCEL, call_id=request.call_id
    ).SerializeToString()
    second = caller.send(cancel)
    replies = dict(caller.receive() for _ in range(2))
    assert replies[second].code == 0
    again = caller.ask(request)
    assert reason(again) == reason(replies[number]) == "CANCELLED"
    assert again.message == replies[number].message
    assert stub.count().jobs == 1


def test_claim_06_many_join_one_call_over_many_connections(
    stub: StubGate, caller: RawClient
) -> None:
    request = caller.request(OBSERVE, batch("hold"))
    number = caller.send(request.SerializeToString())
    stub.wait_for(running=1)
    others = [RawClient(profile(stub)) for _ in range(8)]
    for raw in others:
        raw.send(request.SerializeToString())
    wait_for_rows(stub.home, "call.repeat")
    stub.do("finish")
    for raw in others:
        assert results(raw.receive()[1]) == ["OK"]
        raw.close()
    got, reply = caller.receive()
    assert (got, results(reply)) == (number, ["OK"])
    assert stub.count().jobs == 1
    assert len(rows(stub.home, "--event", "call.begin")) == 1
    assert len(rows(stub.home, "--event", "call.end")) == 1


def test_claim_06_a_repeat_is_on_record(stub: StubGate, caller: RawClient) -> None:
    request = caller.request(OBSERVE, batch("a"))
    for _ in range(3):
        caller.ask(request)
    wait_for_rows(stub.home, "call.repeat")
    told = [json.loads(row) for row in rows(stub.home, "--event", "call.repeat")]
    assert {row["outcome"] for row in told} == {"ok"}
    assert sum(json.loads(row["detail"])["count"] for row in told) == 2
    assert all("trainer" in row["principal"] for row in told)


def test_claim_06_a_reconnect_within_the_grace_takes_the_call_over(
    stub: StubGate,
) -> None:
    """Its first connection is gone; the second one keeps it alive beyond the grace."""
    with RawClient(profile(stub)) as raw:
        request = raw.request(OBSERVE, batch("hold"))
        raw.send(request.SerializeToString())
        stub.wait_for(running=1)
        with RawClient(profile(stub)) as again:
            again.send(request.SerializeToString())
            wait_for_rows(stub.home, "call.repeat")
            raw.close()
            with RawClient(profile(stub)) as third:  # whose call is cut after the first
                third.send(third.request(OBSERVE, batch("hold")).SerializeToString())
                stub.wait_for(running=2)
            stub.wait_for(cancelled=1)
            assert stub.count().running == 1
            stub.do("finish")
            assert results(again.receive()[1]) == ["OK"]


def test_claim_06_a_reply_that_no_longer_fits_is_said_to_be_evicted(
    stub: StubGate, caller: RawClient
) -> None:
    large = "x" * 60_000
    sent = [caller.request(OBSERVE, batch(*[large] * 16)) for _ in range(5)]
    for request in sent:
        assert results(caller.ask(request)) == ["OK"] * 16
    jobs = stub.count().jobs
    assert reason(caller.ask(sent[0])) == "REPLY_EVICTED"
    assert results(caller.ask(sent[-1])) == ["OK"] * 16
    wait_for_rows(stub.home, "call.repeat")
    (told,) = rows(stub.home, "--event", "call.repeat")
    assert json.loads(json.loads(told)["detail"])["count"] == 1, (
        "of two, one had a reply"
    )
    assert stub.count().jobs == jobs


def test_claim_06_one_principals_replies_do_not_drive_out_anothers(
    stub: StubGate, caller: RawClient
) -> None:
    with RawClient(profile(stub, "other")) as other:
        kept = other.request(OBSERVE, batch("mine"))
        first = other.ask(kept)
        for _ in range(20):
            caller.ask(caller.request(OBSERVE, batch(*["x" * 60_000] * 16)))
        assert other.ask(kept).payload == first.payload


def test_claim_06_a_waiting_call_whose_token_is_revoked_learns_nothing(
    stub: StubGate, caller: RawClient
) -> None:
    """The first call's token holds; the one of the call that waits does not."""
    request = caller.request(OBSERVE, batch("hold"))
    number = caller.send(request.SerializeToString())
    stub.wait_for(running=1)
    with RawClient(profile(stub)) as waiting, RawClient(profile(stub, "boss")) as boss:
        asked = IssueRequest(
            name="second",
            scopes=["observe:python_code"],
            bind="uri:spiffe://warded.local/ns/default/owner/root/client/trainer",
        )
        reply = boss.call(ISSUE, asked.SerializeToString())
        second = IssueReply.FromString(reply.payload)
        repeat = Request.FromString(request.SerializeToString())
        repeat.token = second.token
        waiting.send(repeat.SerializeToString())
        wait_for_rows(stub.home, "call.repeat")
        revoke = RevokeRequest(ids=[second.info.id])
        assert boss.call(REVOKE, revoke.SerializeToString()).code == 0
        stub.do("finish")
        assert reason(waiting.receive()[1]) == "TOKEN_REVOKED"
    got, reply = caller.receive()
    assert (got, results(reply)) == (number, ["OK"])


def test_claim_06_another_payload_is_told_of_a_running_and_of_an_ended_call(
    stub: StubGate, caller: RawClient
) -> None:
    held = caller.request(OBSERVE, batch("hold"))
    caller.send(held.SerializeToString())
    stub.wait_for(running=1)
    with RawClient(profile(stub)) as raw:
        other = raw.request(OBSERVE, batch("b"), call_id=held.call_id)
        assert reason(raw.ask(other)) == "CALL_ID_REUSED"
        stub.do("finish")
        assert results(caller.receive()[1]) == ["OK"]
        assert reason(raw.ask(other)) == "CALL_ID_REUSED"
        assert results(raw.ask(held)) == ["OK"]
    assert stub.count().jobs == 1


def test_claim_06_an_id_dated_ahead_is_known_after_a_restart(
    stub: StubGate, caller: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quarter of an hour later its row is older than the oldest id that is taken, and
    it is not itself."""
    once = call_id(time.time_ns() // 1_000_000 + 58_000)
    request = caller.request(OBSERVE, batch("a"), call_id=once)
    assert results(caller.ask(request)) == ["OK"]
    stub.do("kill")
    assert stub.wait_end() == "signal 9"
    stub.close()
    with monkeypatch.context() as clock:
        for name, value in off(15 * 60 + 5).items():
            clock.setenv(name, value)
        stub.start()
    with RawClient(profile(stub)) as later:
        assert reason(later.ask(request)) == "REPLY_EVICTED"
