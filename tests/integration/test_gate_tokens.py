"""Tokens by cause: each has its reason, is on record, and nothing runs."""

from __future__ import annotations

import json
import string
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from warded.v1 import (
    GetObservationReply,
    GetObservationRequest,
    IssueRequest,
    Item,
    Reason,
    RetireRequest,
    RevokeReply,
    RevokeRequest,
    RotateRequest,
)

from tests.integration.scene import Scene, action, broken, issue, unknown
from tests.support.calls import OBSERVE, WHO, reason, rows
from tests.support.raw_client import RawClient, call_id

PATIENCE_S = 20.0


def because(scene: Scene, cause: str) -> list[dict[str, Any]]:
    """The rows with that reason."""
    found = [json.loads(row) for row in rows(scene.home)]
    return [row for row in found if row.get("reason") == cause]


def wrong_secret(token: str) -> str:
    """The same id with another secret, and check digits that fit."""
    head = token[:15] + token[15:58][::-1]
    digits = string.digits + string.ascii_uppercase + string.ascii_lowercase
    crc, check = zlib.crc32(head.encode()), ""
    while crc:
        crc, last = divmod(crc, 62)
        check = digits[last] + check
    return head + check.rjust(6, "0")


def state(scene: Scene, token: str) -> str:
    shown = scene.home.tokctl("-o", "json", "show", token[5:15]).stdout
    return str(json.loads(shown)["state"])


def wait_for(scene: Scene, token: str, wanted: str) -> str:
    """The token, when its state is that."""
    end = time.monotonic() + PATIENCE_S
    while state(scene, token) != wanted:
        assert time.monotonic() < end, state(scene, token)
    return token


def expired(scene: Scene) -> str:
    with RawClient(scene.profile("boss")) as boss:
        token, _ = issue(boss, scene, ttl_ms=1000)
    return wait_for(scene, token, "expired")


def revoked(scene: Scene) -> str:
    with RawClient(scene.profile("boss")) as boss:
        token, token_id = issue(boss, scene)
        revoke = RevokeRequest(ids=[token_id]).SerializeToString()
        assert boss.call("/warded.v1.Token/Revoke", revoke).code == 0
    return token


def revoked_before_a_restart(scene: Scene) -> str:
    token = revoked(scene)
    scene.stub.close()
    scene.stub.start()
    return token


def retired(scene: Scene) -> str:
    """A later one of its family has taken its place."""
    with RawClient(scene.profile("boss")) as boss:
        token, token_id = issue(boss, scene)
        for method, request in (
            ("Rotate", RotateRequest(id=token_id)),
            ("Retire", RetireRequest(id=token_id)),
        ):
            reply = boss.call(f"/warded.v1.Token/{method}", request.SerializeToString())
            assert reply.code == 0, reply.message
    return token


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a token does not hold; what its row says."""

    name: str
    want: str
    make: Callable[[Scene], str]
    event: str = "auth"
    known: bool = True  # it has the form of a token, so its row has an id


CAUSES = [
    Cause("none", "TOKEN_MISSING", lambda _: "", known=False),
    Cause("a_word", "TOKEN_MALFORMED", lambda _: "hunter2", known=False),
    Cause(
        "a_wrong_digit", "TOKEN_MALFORMED", lambda s: broken(s.token("trainer")),
        known=False,
    ),
    Cause(
        "cut", "TOKEN_MALFORMED", lambda s: s.token("trainer")[:-1], known=False
    ),
    Cause(
        "a_newline", "TOKEN_MALFORMED", lambda s: s.token("trainer") + "\n", known=False
    ),
    Cause("long", "TOKEN_MALFORMED", lambda _: "x" * 5000, known=False),
    Cause("another_stores", "TOKEN_UNKNOWN", unknown),
    Cause(
        "a_wrong_secret", "TOKEN_UNKNOWN", lambda s: wrong_secret(s.token("trainer"))
    ),
    Cause("expired", "TOKEN_EXPIRED", expired),
    Cause("not_yet", "TOKEN_NOT_YET", lambda s: s.not_yet),
    Cause("revoked", "TOKEN_REVOKED", revoked),
    Cause("revoked_and_restarted", "TOKEN_REVOKED", revoked_before_a_restart),
    Cause("retired", "TOKEN_RETIRED", retired, event="token.reuse_after_retire"),
    Cause("someone_elses", "TOKEN_NOT_YOURS", lambda s: s.token("other")),
    Cause("for_other_gates", "TOKEN_AUDIENCE", lambda s: s.elsewhere),
]  # fmt: skip


@pytest.mark.parametrize("cause", CAUSES, ids=[c.name for c in CAUSES])
def test_claim_05_a_token_that_does_not_hold_runs_nothing(
    scene: Scene, cause: Cause
) -> None:
    made, token, first = scene.file(), cause.make(scene), call_id()
    with RawClient(scene.profile("trainer"), token=token) as raw:
        reply = raw.call(OBSERVE, action(made), call_id=first)
        peer = f"127.0.0.1:{raw.port}"
    assert (reason(reply), reply.code, reply.payload) == (cause.want, 16, b"")
    assert not made.exists()
    assert scene.stub.count().jobs == 0
    written = because(scene, cause.want)
    assert len(written) == 1, written
    row = written[0]
    assert (row["event"], row["outcome"], row["code"]) == (cause.event, "refused", 16)
    assert row.get("token_id", "") == (token[5:15] if cause.known else "")
    assert row["principal"].endswith("/client/trainer")
    assert row["peer_addr"] == peer
    assert (row.get("method") or OBSERVE) == OBSERVE  # too long: nothing is decoded
    assert row["call_id"].replace("-", "") == first.hex()
    assert json.loads(row["detail"])["message"] == reply.message
    assert token[15:58] not in json.dumps(row) or not cause.known
    trail = "".join(rows(scene.home, "--call", row["call_id"]))
    assert "call.begin" not in trail


def test_claim_05_every_reason_of_a_token_is_in_the_table() -> None:
    of_tokens = {name for name in list(Reason.keys()) if name.startswith("TOKEN_")}
    elsewhere = {"TOKEN_USES_SPENT", "TOKEN_ID_UNKNOWN"}  # of tokens that hold
    assert {cause.want for cause in CAUSES} == of_tokens - elsewhere


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
    (denied,) = map(json.loads, rows(scene.home, "--event", "authz.deny"))
    assert (denied["outcome"], denied["code"]) == ("refused", 7)
    assert denied["reason"] == "METHOD_UNKNOWN"
    assert denied["principal"].endswith("/client/reader")
    assert denied["token_id"] == scene.token("reader")[5:15]
    assert denied["peer_addr"].startswith("127.0.0.1:")
    assert denied["method"] == OBSERVE
    (end,) = map(
        json.loads, rows(scene.home, "--event", "call.end", "--method", OBSERVE)
    )
    assert (end["outcome"], end["code"]) == ("refused", 7)
    assert (end["reason"], end["scope"]) == ("SCOPE_MISSING", "observe:python_code")
    assert end["principal"].endswith("/client/wrong_tool")
    assert end["token_id"] == scene.token("wrong_tool")[5:15]


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
            peer = f"127.0.0.1:{raw.port}"
        again = boss.call("/warded.v1.Token/Revoke", revoke.SerializeToString())
        assert RevokeReply.FromString(again.payload).already == 1
    assert not made.exists()
    assert scene.stub.count().running == 0
    (row,) = map(json.loads, rows(scene.home, "--event", "auth"))
    assert (row["reason"], row["token_id"]) == ("TOKEN_REVOKED", token_id)
    assert row["peer_addr"] == peer
    (ended,) = because(scene, "CANCELLED")
    assert (ended["event"], ended["outcome"]) == ("call.end", "failed")
    assert ended["token_id"] == token_id
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
    shared: Scene, fields: dict[str, object], want: str
) -> None:
    asked: dict[str, object] = {"name": "x", "scopes": ["observe:python_code"]}
    request = IssueRequest(**(asked | fields)).SerializeToString()
    with RawClient(shared.profile("boss")) as boss:
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
    shared: Scene, request_: RevokeRequest, want: str
) -> None:
    with RawClient(shared.profile("boss")) as boss:
        reply = boss.call("/warded.v1.Token/Revoke", request_.SerializeToString())
    assert reason(reply) == want
