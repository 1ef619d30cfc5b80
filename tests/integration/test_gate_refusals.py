"""Refused calls: on record, without filling it; and a Revoke that no disk can stop."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from warded.v1 import IssueReply, IssueRequest, Reply, RevokeRequest

from tests.conftest import NewHome
from tests.support.calls import (
    OBSERVE,
    WHO,
    batch,
    reason,
    results,
    rows,
    wait_signed,
)
from tests.support.gate import Home
from tests.support.raw_client import RawClient, call_id
from tests.support.stub_gate import StubGate

FLOOD = 5_000
WINDOW = 100  # calls in flight
PATIENCE_S = 20.0
ISSUE = "/warded.v1.Token/Issue"
REVOKE = "/warded.v1.Token/Revoke"
TRAINER = "uri:spiffe://warded.local/ns/default/owner/root/client/trainer"


@pytest.fixture
def home(new_home: NewHome) -> Home:
    made = new_home()
    made.profile("trainer", "observe:python_code")
    made.profile("other", "observe:python_code")
    made.profile("boss", "token:**", "observe:**")
    return made


def profile(stub: StubGate, name: str) -> Path:
    return stub.home.path / "profile" / name


def flood(raw: RawClient, good: RawClient, method: str, want: str) -> None:
    """FLOOD refused calls, with one of a good caller's after every thousand."""
    for sent in range(0, FLOOD, WINDOW):
        for _ in range(WINDOW):
            raw.send(raw.request(method).SerializeToString())
        for _ in range(WINDOW):
            assert reason(raw.receive()[1]) == want
        if sent % 1000 == 0:
            assert results(good.call(OBSERVE, batch("a"))) == ["OK"]


def recorded(home: Home, event: str) -> tuple[int, int]:
    """How many rows there are, and of how many refusals they tell."""
    found = [json.loads(row) for row in rows(home, "--event", event)]
    details = [json.loads(row["detail"]) for row in found]
    return len(found), sum(detail.get("count", 1) for detail in details)


@pytest.mark.parametrize(
    ("token", "method", "event", "want"),
    [
        ("", OBSERVE, "auth", "TOKEN_MISSING"),
        ("hunter2", OBSERVE, "auth", "TOKEN_MALFORMED"),
        (None, ISSUE, "authz.deny", "METHOD_UNKNOWN"),
        (None, "", "call.refused", "FIELD_INVALID"),
    ],
)
def test_claim_05_a_flood_of_refused_calls_is_counted(
    stub: StubGate, token: str | None, method: str, event: str, want: str
) -> None:
    began = time.monotonic()
    with (
        RawClient(profile(stub, "other"), token=token) as raw,
        RawClient(profile(stub, "trainer")) as good,
    ):
        flood(raw, good, method, want)
    seconds = time.monotonic() - began
    stub.do("stop")
    assert stub.wait_end() == "exit 0"
    n_rows, n_told = recorded(stub.home, event)
    assert n_told == FLOOD
    assert n_rows <= 2 * (seconds + 2), "more than two rows a second"
    stub.home.tokctl("audit", "verify")


def test_claim_09_a_refusal_whose_row_could_not_be_written_is_counted(
    stub: StubGate,
) -> None:
    with RawClient(profile(stub, "other"), token="") as raw:
        stub.do("unwritable 1000000")
        assert reason(raw.call(OBSERVE)) == "TOKEN_MISSING"
        stub.do("unwritable 0")
    stub.do("stop")
    assert stub.wait_end() == "exit 0"
    assert recorded(stub.home, "auth") == (1, 1)


def test_claim_05_the_first_refusal_of_a_cause_has_its_call_id(
    stub: StubGate,
) -> None:
    first = call_id()
    with RawClient(profile(stub, "other"), token="") as raw:
        assert reason(raw.call(OBSERVE, call_id=first)) == "TOKEN_MISSING"
        assert reason(raw.call(OBSERVE, token="hunter2")) == "TOKEN_MALFORMED"
    found = [json.loads(row) for row in rows(stub.home, "--event", "auth")]
    assert [row["reason"] for row in found] == ["TOKEN_MISSING", "TOKEN_MALFORMED"]
    assert found[0]["call_id"].replace("-", "") == first.hex()
    assert found[0]["principal"].endswith("/client/other")


def test_claim_05_a_killed_gate_loses_counts_but_no_first_refusal(
    stub: StubGate,
) -> None:
    """What docs/protocol.md says of counts: a lower bound, never too much."""
    with RawClient(profile(stub, "other"), token="") as raw:
        for _ in range(50):
            assert reason(raw.call(OBSERVE)) == "TOKEN_MISSING"
    stub.do("kill")
    assert stub.wait_end() == "signal 9"
    stub.close()
    stub.start()
    n_rows, n_told = recorded(stub.home, "auth")
    assert n_rows >= 1
    assert 1 <= n_told <= 50
    stub.home.tokctl("audit", "verify")


def issue(boss: RawClient) -> tuple[str, str]:
    request = IssueRequest(name="x", scopes=["observe:python_code"], bind=TRAINER)
    reply = boss.call(ISSUE, request.SerializeToString())
    made = IssueReply.FromString(reply.payload)
    return made.token, made.info.id


def revoke(boss: RawClient, token_id: str) -> Reply:
    return boss.call(REVOKE, RevokeRequest(ids=[token_id]).SerializeToString())


def calls_of(home: Home, event: str) -> set[str]:
    """The calls with a row of this event: none may end that has not begun on record."""
    return {json.loads(row)["call_id"] for row in rows(home, "--event", event)}


# Each group that fails takes two syncs: it is written again once.
@pytest.mark.parametrize(
    ("failing", "want"),
    [
        (2, "REASON_UNSPECIFIED"),  # its begin row alone: its own rows are durable
        (6, "OUTCOME_UNRECORDED"),  # its own rows too; two to spare for another's write
        (1000, "OUTCOME_UNRECORDED"),
    ],
)
def test_claim_09_a_revocation_that_cannot_be_recorded_holds_at_once(
    stub: StubGate, failing: int, want: str
) -> None:
    with RawClient(profile(stub, "boss")) as boss:
        token, token_id = issue(boss)
        with RawClient(profile(stub, "trainer"), token=token) as raw:
            held = raw.send(raw.request(OBSERVE, batch("hold")).SerializeToString())
            stub.wait_for(running=1)
            if failing < 10:  # a signature would take some of them
                wait_signed(stub.home, boss.call(WHO).head.seq)
            stub.do(f"unwritable {failing}")
            assert reason(revoke(boss, token_id)) == want
            stub.wait_for(running=0, cancelled=1)
            stub.do("unwritable 0")
            number, ended = raw.receive()
            assert number == held
            assert reason(ended) in ("CANCELLED", "OUTCOME_UNRECORDED")
            assert reason(raw.call(OBSERVE, batch("a"))) == "TOKEN_REVOKED"
        assert revoke(boss, token_id).code == 0
    assert rows(stub.home, "--event", "token.revoke", "--token", token_id)
    assert calls_of(stub.home, "call.end") <= calls_of(stub.home, "call.begin")
    stub.close()
    stub.start()
    with RawClient(profile(stub, "trainer"), token=token) as raw:
        assert reason(raw.call(WHO)) == "TOKEN_REVOKED"


def test_claim_09_a_revocation_that_is_owed_is_written_when_the_disk_is_back(
    stub: StubGate,
) -> None:
    with RawClient(profile(stub, "boss")) as boss:
        token, token_id = issue(boss)
        stub.do("unwritable 1000")
        reply = revoke(boss, token_id)
        assert reason(reply) == "OUTCOME_UNRECORDED"
        assert "as soon as the disk takes them" in reply.message
    asked = ("--event", "token.revoke", "--token", token_id)
    assert not rows(stub.home, *asked)
    stub.do("unwritable 0")
    end = time.monotonic() + PATIENCE_S
    while not (found := rows(stub.home, *asked)):  # nobody calls
        assert time.monotonic() < end, stub.log
    assert json.loads(found[0])["principal"].endswith("/client/boss")
    stub.do("kill")
    assert stub.wait_end() == "signal 9"
    stub.close()
    stub.start()
    assert len(rows(stub.home, *asked)) == 1
    with RawClient(profile(stub, "trainer"), token=token) as raw:
        assert reason(raw.call(WHO)) == "TOKEN_REVOKED"


def test_claim_09_only_a_revocation_runs_off_the_record(stub: StubGate) -> None:
    with RawClient(profile(stub, "boss")) as boss:
        stub.do("unwritable 1000")
        request = IssueRequest(name="x", scopes=["observe:python_code"])
        reply = boss.call(ISSUE, request.SerializeToString())
        assert reason(reply) == "AUDIT_UNWRITABLE"
        stub.do("unwritable 0")
