"""Grants on one session: scopes `session:ID`, which open what is a session's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from warded.v1 import (
    CheckReply,
    CheckRequest,
    IssueReply,
    IssueRequest,
    Reply,
    RevokeRequest,
)

from tests.conftest import NewHome
from tests.support.calls import WHO, reason
from tests.support.ctl import Ctl
from tests.support.gate import Home
from tests.support.raw_client import RawClient
from tests.support.stub_gate import StubGate

ISSUE, REVOKE = "/warded.v1.Token/Issue", "/warded.v1.Token/Revoke"
OF_A_SESSION = ("Step/Step", "Step/StepBatch", "Step/GetState", "Step/RenewLease")
MINUTE_MS = 60_000


@pytest.fixture
def home(new_home: NewHome) -> Home:
    made = new_home()
    made.profile("boss", "token:**", "session:*", "observe:python_code", ttl="2h")
    return made


@pytest.fixture
def boss(home: Home) -> Iterator[RawClient]:
    with StubGate(home), RawClient(home.path / "profile/boss") as raw:
        yield raw


def ask(raw: RawClient, token: str | None = None, **fields: Any) -> Reply:
    request = IssueRequest(**({"name": "grant"} | fields)).SerializeToString()
    said = {} if token is None else {"token": token}
    return raw.call(ISSUE, request, **said)


def grant(raw: RawClient, token: str | None = None, **fields: Any) -> IssueReply:
    reply = ask(raw, token, **fields)
    assert reply.code == 0, reply.message
    return IssueReply.FromString(reply.payload)


def test_claim_03_a_session_grant_opens_the_methods_of_a_session(
    boss: RawClient,
) -> None:
    """And nothing else. What it would open is not built, and says so."""
    token = grant(boss, scopes=["session:one"]).token
    for path in (*OF_A_SESSION, "Reset/CloseSession"):
        answer = reason(boss.call(f"/warded.v1.{path}", token=token))
        assert answer == "NOT_BUILT", path
    for path in ("Reset/Reset", "Reset/ListEnvironments", "Observation/ListTools"):
        answer = reason(boss.call(f"/warded.v1.{path}", token=token))
        assert answer in ("SCOPE_MISSING", "METHOD_UNKNOWN"), path
    other = grant(boss, scopes=["observe:python_code"]).token
    assert reason(boss.call("/warded.v1.Step/Step", token=other)) == "METHOD_UNKNOWN"


def test_claim_03_children_of_a_session_grant_are_narrower_and_never_outlive_it(
    boss: RawClient,
) -> None:
    scopes = ["session:one", "token:issue"]
    parent = grant(boss, scopes=scopes, ttl_ms=10 * MINUTE_MS)
    assert grant(boss, parent.token, scopes=["session:one"]).info.parent
    for wider in ("session:two", "session:*", "session:**", "env:cart"):
        assert reason(ask(boss, parent.token, scopes=[wider])) == "SCOPE_MISSING", wider
    longer = ask(boss, parent.token, scopes=["session:one"], ttl_ms=11 * MINUTE_MS)
    assert reason(longer) == "FIELD_INVALID"
    assert "expires" in longer.message


def test_claim_03_a_session_grant_that_was_taken_back_stays_so_after_a_kill(
    home: Home,
) -> None:
    with StubGate(home) as stub, RawClient(home.path / "profile/boss") as boss:
        parent = grant(boss, scopes=["session:one", "token:issue"])
        child = grant(boss, parent.token, scopes=["session:one"])
        other = grant(boss, scopes=["session:two"])
        asked = RevokeRequest(ids=[parent.info.id]).SerializeToString()
        assert boss.call(REVOKE, asked).code == 0
        stub.do("kill")
        assert stub.wait_end() == "signal 9"
    with StubGate(home), RawClient(home.path / "profile/boss") as boss:
        for token in (parent.token, child.token):
            for path in ("/warded.v1.Step/Step", WHO):
                assert reason(boss.call(path, token=token)) == "TOKEN_REVOKED"
        assert (
            reason(boss.call("/warded.v1.Step/Step", token=other.token)) == "NOT_BUILT"
        )


def test_claim_03_check_explains_a_session_grant(boss: RawClient) -> None:
    made = grant(boss, scopes=["session:one"])

    def check(**fields: Any) -> CheckReply:
        asked = CheckRequest(id=made.info.id, **fields).SerializeToString()
        return CheckReply.FromString(boss.call("/warded.v1.Token/Check", asked).payload)

    step = "/warded.v1.Step/Step"
    assert check(method=step, object="one").allowed
    refused = check(method=step, object="two")
    assert not refused.allowed
    assert "env:two or session:two" in refused.message
    assert not check(method="/warded.v1.Reset/Reset", object="one").allowed


def told(boss: RawClient, id_: str) -> list[str]:
    """What check --explain says of idle scopes."""
    asked = CheckRequest(id=id_).SerializeToString()
    reply = CheckReply.FromString(boss.call("/warded.v1.Token/Check", asked).payload)
    said = [rule for rule in reply.rules if rule.rule == "idle_scopes"]
    assert all(rule.ok for rule in said)
    return [rule.why for rule in said]


@pytest.mark.parametrize(
    ("scopes", "idle"),
    [
        (["observe:python_code"], []),
        (["observe:*", "token:issue"], []),
        (["observe:pyton_code", "observe:python_code"], ["observe:pyton_code"]),
        (["session:one", "token:isue"], ["session:one", "token:isue"]),
    ],
)
def test_claim_03_scopes_that_open_nothing_here_are_told(
    home: Home, scopes: list[str], idle: list[str]
) -> None:
    """At the issue, and by check --explain: a typing error, or another gate's."""
    home.profile("all", "token:**", "session:*", "observe:**", ttl="2h")
    with StubGate(home), RawClient(home.path / "profile/all") as boss:
        made = grant(boss, scopes=scopes)
        assert list(made.idle_scopes) == idle
        said = told(boss, made.info.id)
        assert len(said) == bool(idle)
        assert all(" ".join(idle) in words for words in said)


def test_claim_03_tokctl_warns_of_scopes_that_open_nothing(home: Home) -> None:
    with StubGate(home):
        ctl = Ctl(home.path / "profile/boss")
        made = ctl("issue", "x", "--scope", "session:one", "--scope", "token:issue")
        assert "issue: scope session:one opens nothing at this gate" in made.stderr
        assert "token:issue" not in made.stderr
        assert "opens" not in ctl("issue", "y", "--scope", "token:issue").stderr


def test_of_a_token_for_other_gates_nothing_is_said_to_be_idle(home: Home) -> None:
    asked = ("--scope", "env:x", "--bind", "uri:spiffe://x/y")
    here, away = (
        home.tokctl("issue", name, *asked, *words).stdout.strip()[5:15]
        for name, *words in (("here",), ("away", "--audience", "spiffe://away/**"))
    )
    with StubGate(home), RawClient(home.path / "profile/boss") as boss:
        assert told(boss, here) == ["open nothing at this gate: env:x"]
        assert told(boss, away) == []
