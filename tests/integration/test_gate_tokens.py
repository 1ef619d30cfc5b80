"""Tokens by cause: each has its reason, is on record, and nothing runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from warded.v1 import (
    GetObservationReply,
    GetObservationRequest,
    IssueReply,
    IssueRequest,
    Item,
    Reason,
    RevokeReply,
    RevokeRequest,
)

from tests.conftest import NewHome
from tests.support.calls import OBSERVE, WHO, reason, rows
from tests.support.gate import Home
from tests.support.raw_client import RawClient
from tests.support.stub_gate import StubGate

PATIENCE_S = 20.0


@dataclass(frozen=True, slots=True)
class Scene:
    """A gate, its profiles, and a file that only a run action makes."""

    stub: StubGate
    home: Home
    folder: Path
    not_yet: str

    def profile(self, name: str) -> Path:
        return self.home.path / "profile" / name

    def file(self) -> Path:
        return self.folder / f"made-{time.monotonic_ns()}"

    def token(self, name: str) -> str:
        return (self.profile(name) / "token").read_text().strip()


def action(path: Path) -> bytes:
    item = Item(trajectory_id="t", tool="python_code", action=f"touch {path}")
    return bytes(GetObservationRequest(items=[item]).SerializeToString())


@pytest.fixture
def scene(new_home: NewHome) -> Iterator[Scene]:
    home = new_home()
    home.profile("trainer", "observe:python_code")
    home.profile("other", "observe:python_code")
    home.profile("reader", "audit:read")
    home.profile("wrong_tool", "observe:bash_terminal")
    home.profile("boss", "token:**", "observe:**")
    uri = "uri:spiffe://warded.local/ns/default/owner/root/client/trainer"
    issue = ("issue", "later", "--scope", "observe:python_code", "--not-before", "+1h")
    not_yet = home.tokctl(*issue, "--bind", uri).stdout.strip()
    folder = home.path.parent / "made"
    folder.mkdir()
    with StubGate(home) as stub:
        yield Scene(stub, home, folder, not_yet)


def broken(token: str) -> str:
    """The same token with another last character: its check digits are wrong."""
    return token[:-1] + ("0" if token[-1] != "0" else "1")


def unknown(scene: Scene) -> str:
    """A well-formed token that this gate never issued: another store made it."""
    home = Home.make(scene.home.path.parent / "elsewhere")
    home.profile("trainer", "observe:python_code")
    return (home.path / "profile/trainer/token").read_text().strip()


@pytest.mark.parametrize(
    ("want", "make"),
    [
        ("TOKEN_MISSING", lambda _: ""),
        ("TOKEN_MALFORMED", lambda _: "hunter2"),
        ("TOKEN_MALFORMED", lambda s: broken(s.token("trainer"))),
        ("TOKEN_MALFORMED", lambda s: s.token("trainer")[:-1]),
        ("TOKEN_MALFORMED", lambda s: s.token("trainer") + "\n"),
        ("TOKEN_MALFORMED", lambda _: "x" * 5000),
        ("TOKEN_UNKNOWN", unknown),
        ("TOKEN_NOT_YET", lambda s: s.not_yet),
        ("TOKEN_NOT_YOURS", lambda s: s.token("other")),
    ],
)
def test_claim_05_a_token_that_does_not_hold_runs_nothing(
    scene: Scene, want: str, make: Callable[[Scene], str]
) -> None:
    made = scene.file()
    with RawClient(scene.profile("trainer"), token=make(scene)) as raw:
        reply = raw.call(OBSERVE, action(made))
    assert reason(reply) == want
    assert not made.exists()
    assert scene.stub.count().jobs == 0
    written = [row for row in rows(scene.home, "--event", "auth") if want in row]
    assert len(written) == 1
    assert '"call.begin"' not in "".join(rows(scene.home))


def test_claim_05_the_same_action_runs_with_the_right_token(scene: Scene) -> None:
    made = scene.file()
    with RawClient(scene.profile("trainer")) as raw:
        assert raw.call(OBSERVE, action(made)).code == 0
    assert made.exists()


def test_claim_05_a_wrong_scope_runs_nothing(scene: Scene) -> None:
    made = scene.file()
    with RawClient(scene.profile("reader")) as raw:
        assert reason(raw.call(OBSERVE, action(made))) == "METHOD_UNKNOWN"
    with RawClient(scene.profile("wrong_tool")) as raw:
        reply = raw.call(OBSERVE, action(made))
    results = GetObservationReply.FromString(reply.payload).results
    assert [type(r).Status.Name(r.status) for r in results] == ["DENIED"]
    assert results[0].reason == Reason.SCOPE_MISSING
    assert not made.exists()
    assert scene.stub.count().jobs == 0
    assert len(rows(scene.home, "--event", "authz.deny")) == 1
    ends = rows(scene.home, "--event", "call.end", "--method", OBSERVE)
    assert len(ends) == 1
    assert "SCOPE_MISSING" in ends[0]


def issue(boss: RawClient, scene: Scene, **fields: object) -> tuple[str, str]:
    """A token for the trainer's identity: its text and id."""
    bind = "uri:spiffe://warded.local/ns/default/owner/root/client/trainer"
    asked: dict[str, object] = {
        "name": "fresh",
        "scopes": ["observe:python_code"],
        "bind": bind,
    }
    request = IssueRequest(**(asked | fields))
    reply = boss.call("/warded.v1.Token/Issue", request.SerializeToString())
    assert reply.code == 0, reply.message
    made = IssueReply.FromString(reply.payload)
    assert len(rows(scene.home, "--event", "token.issue", "--token", made.info.id)) == 1
    return made.token, made.info.id


def test_claim_05_an_expired_token_runs_nothing(scene: Scene) -> None:
    made = scene.file()
    with RawClient(scene.profile("boss")) as boss:
        token, _ = issue(boss, scene, ttl_ms=1000)
    with RawClient(scene.profile("trainer"), token=token) as raw:
        end = time.monotonic() + PATIENCE_S
        while raw.call(WHO).code == 0:
            assert time.monotonic() < end
        reply = raw.call(OBSERVE, action(made))
    assert reason(reply) == "TOKEN_EXPIRED"
    assert not made.exists()
    assert scene.stub.count().jobs == 0


def test_claim_05_a_revoked_token_runs_nothing_and_its_calls_end(scene: Scene) -> None:
    made = scene.file()
    hold = Item(trajectory_id="t", tool="python_code", action="hold")
    held = GetObservationRequest(items=[hold]).SerializeToString()
    with RawClient(scene.profile("boss")) as boss:
        token, token_id = issue(boss, scene)
        with RawClient(scene.profile("trainer"), token=token) as raw:
            raw.send(raw.request(OBSERVE, held).SerializeToString())
            scene.stub.wait_for(running=1)
            revoke = RevokeRequest(ids=[token_id], reason="leaked")
            reply = boss.call("/warded.v1.Token/Revoke", revoke.SerializeToString())
            told = RevokeReply.FromString(reply.payload)
            assert (told.revoked, told.already, told.calls_signalled) == (1, 0, 1)
            _, cancelled = raw.receive()
            assert reason(cancelled) == "CANCELLED"
            assert "revoked" in cancelled.message
            assert reason(raw.call(OBSERVE, action(made))) == "TOKEN_REVOKED"
        again = boss.call("/warded.v1.Token/Revoke", revoke.SerializeToString())
        assert RevokeReply.FromString(again.payload).already == 1
    assert not made.exists()
    assert scene.stub.count().running == 0
    assert len(rows(scene.home, "--event", "token.revoke", "--token", token_id)) == 2
    with RawClient(scene.profile("trainer")) as raw:
        assert raw.call(WHO).code == 0


def test_a_revocation_outlives_a_restart(scene: Scene) -> None:
    with RawClient(scene.profile("boss")) as boss:
        token, token_id = issue(boss, scene)
        revoke = RevokeRequest(ids=[token_id]).SerializeToString()
        assert boss.call("/warded.v1.Token/Revoke", revoke).code == 0
    scene.stub.close()
    scene.stub.start()
    with RawClient(scene.profile("trainer"), token=token) as raw:
        assert reason(raw.call(WHO)) == "TOKEN_REVOKED"


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        ({"scopes": ["audit:read"]}, "SCOPE_MISSING"),
        ({"scopes": ["**"]}, "SCOPE_MISSING"),
        ({"scopes": []}, "FIELD_INVALID"),
        ({"name": "a b"}, "FIELD_INVALID"),
        ({"name": ""}, "FIELD_INVALID"),
        ({"kind": "join"}, "FIELD_INVALID"),
        ({"ttl_ms": 2**63}, "FIELD_INVALID"),
        ({"ttl_ms": 1}, "FIELD_INVALID"),
        ({"bind": "unbound"}, "FIELD_INVALID"),
        ({"bind": "uri:http://x"}, "FIELD_INVALID"),
        ({"idle_ms": 59_999}, "FIELD_INVALID"),
        ({"max_uses": 2**40 + 1}, "FIELD_INVALID"),
        ({"max_uses": 2**63}, "FIELD_INVALID"),
        ({"rate": {"calls": 0, "per_ms": 1000}}, "FIELD_INVALID"),
        ({"rate": {"calls": 1, "per_ms": 999}}, "FIELD_INVALID"),
        ({"concurrency": 4097}, "FIELD_INVALID"),
        ({"ttl_ms": 2000, "renewable_ms": 1999}, "FIELD_INVALID"),
        ({"wrap_ttl_ms": 999}, "FIELD_INVALID"),
    ],
)
def test_nobody_issues_what_they_do_not_hold_or_what_is_out_of_bounds(
    scene: Scene, fields: dict[str, object], want: str
) -> None:
    asked: dict[str, object] = {"name": "x", "scopes": ["observe:python_code"]}
    request = IssueRequest(**(asked | fields)).SerializeToString()
    with RawClient(scene.profile("boss")) as boss:
        assert reason(boss.call("/warded.v1.Token/Issue", request)) == want


@pytest.mark.parametrize(
    ("request_", "want"),
    [
        (RevokeRequest(), "FIELD_INVALID"),
        (RevokeRequest(ids=["short"]), "FIELD_INVALID"),
        (RevokeRequest(ids=["0123456789"]), "TOKEN_ID_UNKNOWN"),
        (RevokeRequest(ids=["0123456789"] * 1025), "FIELD_INVALID"),
        (RevokeRequest(ids=["0123456789"], reason="x" * 257), "FIELD_INVALID"),
    ],
)
def test_a_revocation_that_means_nothing_is_refused(
    scene: Scene, request_: RevokeRequest, want: str
) -> None:
    with RawClient(scene.profile("boss")) as boss:
        reply = boss.call("/warded.v1.Token/Revoke", request_.SerializeToString())
    assert reason(reply) == want
