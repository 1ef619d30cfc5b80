"""What was reported of tokens and records elsewhere, under a gate.

The table "Failures that were reported elsewhere" of docs/testing.md names each.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from warded.v1 import (
    IssueReply,
    IssueRequest,
    ListReply,
    ListRequest,
    RevokeRequest,
    RotateRequest,
    TokenInfo,
)

from tests.support.calls import WHO, reason, rows
from tests.support.outside import held
from tests.support.raw_client import RawClient
from tests.support.skew import off
from tests.support.token_scene import GOOD, TRAINER, Scene

MANY = 600  # tokens, of which one in ten lives
PAGE = 50
OURS = "name=dead,live"
NAMED = {"name": "fresh", "scopes": ["observe:python_code"], "bind": TRAINER}


def tokens(scene: Scene, **fields: Any) -> ListReply:
    page: ListReply = scene.get("List", ListReply.FromString, ListRequest(**fields))
    return page


def send(scene: Scene, name: str, asked: Any) -> None:
    """A method of Token, whose answer is not waited for."""
    path = f"/warded.v1.Token/{name}"
    envelope = scene.boss.request(path, asked.SerializeToString())
    scene.boss.send(envelope.SerializeToString())


@contextlib.contextmanager
def killed_and_started(scene: Scene) -> Iterator[Scene]:
    """With connections of its own."""
    os.kill(scene.stub.pid, signal.SIGKILL)
    assert scene.stub.wait_end() == "signal 9"
    scene.stub.close()
    scene.stub.start()
    profiles = scene.home.path / "profile"
    with (
        RawClient(profiles / "boss") as boss,
        RawClient(profiles / "trainer") as trainer,
    ):
        yield Scene(scene.home, scene.stub, boss, trainer)


# --- hashicorp/vault#4391 ------------------------------------------------------------


def names(scene: Scene) -> list[tuple[str, int]]:
    return [(info.id, info.state) for info in tokens(scene, limit=100).tokens]


def test_what_can_not_be_written_is_refused_and_nothing_changes(scene: Scene) -> None:
    """Issue and Rotate, while somebody holds the store for longer than its patience."""
    old = scene.issue()
    before = names(scene)
    with held(scene.home, "BEGIN IMMEDIATE"):
        for name, asked in (
            ("Issue", IssueRequest(**NAMED)),
            ("Rotate", RotateRequest(id=old.info.id)),
        ):
            send(scene, name, asked)
        answers = [scene.boss.receive()[1] for _ in range(2)]
    assert {reason(answer) for answer in answers} == {"AUDIT_UNWRITABLE"}
    assert names(scene) == before
    with killed_and_started(scene) as after:
        assert names(after) == before
        assert after.who(old.token) == GOOD
    scene.home.tokctl("audit", "verify")


def test_what_was_answered_holds_after_a_kill(scene: Scene) -> None:
    old, gone = scene.issue(), scene.issue()
    new = scene.rotate(id=old.info.id)
    done = scene.call("Revoke", RevokeRequest(ids=[gone.info.id]))
    assert done.code == 0
    with killed_and_started(scene) as after:
        assert after.who(old.token) == after.who(new.token) == GOOD
        assert after.who(gone.token) == "TOKEN_REVOKED"
        third = after.call("Rotate", RotateRequest(id=old.info.id))
        assert reason(third) == "CONFLICT"


# --- indigo-iam/iam#704 --------------------------------------------------------------


@pytest.mark.parametrize("skew_s", [-120, -2, 2, 3600])
def test_a_token_of_a_host_whose_clock_is_off_works_at_once(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, skew_s: int
) -> None:
    """Issued beside a gate that is stopped, by a clock that is not the gate's."""
    scene.stub.stop()
    scene.stub.close()
    words = ("--scope", "observe:python_code", "--bind", TRAINER, "--ttl", "4h")
    with monkeypatch.context() as environment:
        for name, value in off(skew_s).items():
            environment.setenv(name, value)
        made = scene.home.tokctl("issue", "skewed", *words)
    scene.stub.start()
    with RawClient(scene.home.path / "profile/trainer") as trainer:
        answer = trainer.call(WHO, token=made.stdout.strip())
        assert reason(answer) == GOOD


# --- chef/automate#1512 --------------------------------------------------------------


def make_many(scene: Scene) -> set[str]:
    """Most of them revoked; the ids of all."""
    for n in range(MANY):
        asked = IssueRequest(**(NAMED | {"name": "dead" if n % 10 else "live"}))
        send(scene, "Issue", asked)
    for _ in range(MANY):
        _, reply = scene.boss.receive()
        assert reply.code == 0, reply.message
    assert scene.call("Revoke", RevokeRequest(filter="name=dead")).code == 0
    return {info.id for info in tokens(scene, filter=OURS, limit=10_000).tokens}


def test_pages_stay_stable_while_tokens_are_made(scene: Scene) -> None:
    made = make_many(scene)
    assert len(made) == MANY
    seen: list[TokenInfo] = []
    cursor = ""
    while True:
        page = tokens(scene, filter=OURS, limit=PAGE, cursor=cursor)
        assert len(page.tokens) <= PAGE
        seen += page.tokens
        cursor = page.next_cursor
        scene.issue(name="live")
        if not cursor:
            break
    ids = [info.id for info in seen]
    assert len(set(ids)) == len(ids)
    assert made <= set(ids)
    for info in seen:
        ended = info.state == TokenInfo.REVOKED
        assert ended == (info.name == "dead")
    alive = tokens(scene, filter=f"{OURS} state=active", limit=10_000).tokens
    assert {info.name for info in alive} == {"live"}


# --- jentic/jentic-one#376 -----------------------------------------------------------


FORGERIES = {
    "a line": "a\r\nevent=token.issue",
    "a terminal": "\x1b]0;x\x07\x1b[2J",
    "a statement": "'; DROP TABLE audit; --",
    "a direction": "abc\u202edef",
    "a formula": "=cmd|' /C calc'!A0",
    "a megabyte": "x" * (1 << 20),
}


def test_what_names_a_token_forges_no_row(scene: Scene) -> None:
    """It is refused, or kept as it is; either way there is one row of it."""
    issued = len(rows(scene.home, "--event", "token.issue"))
    for what, text in FORGERIES.items():
        for field in ("name", "owner", "purpose"):
            reply = scene.call("Issue", IssueRequest(**(NAMED | {field: text})))
            if reply.code != 0:
                assert reason(reply) == "FIELD_INVALID", (what, field)
                continue
            issued += 1
            info = IssueReply.FromString(reply.payload).info
            shown = scene.show(id=info.id).info
            assert getattr(shown, field) == text, (what, field)
    assert len(rows(scene.home, "--event", "token.issue")) == issued
    scene.home.tokctl("audit", "verify")
