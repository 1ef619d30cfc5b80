"""Revoke: whatever names the tokens, they end at once, on any connection, for good."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
from warded.v1 import (
    IssueReply,
    ListRequest,
    RevokeReply,
    RevokeRequest,
    RotateReply,
)

from tests.support.calls import OBSERVE, WHO, batch, reason, rows
from tests.support.raw_client import RawClient
from tests.support.token_scene import GOOD, Scene

CONNECTIONS = 3
PATIENCE_S = 20.0


@dataclass(frozen=True, slots=True)
class Family:
    """A token with two generations and a child, and one that nobody is after."""

    old: IssueReply
    new: RotateReply
    child: IssueReply
    other: IssueReply

    def secrets(self) -> dict[str, str]:
        return {
            "old": self.old.token,
            "new": self.new.token,
            "child": self.child.token,
            "other": self.other.token,
        }


@dataclass(frozen=True, slots=True)
class Case:
    """How it is asked, how many that revokes, and who can't call any more."""

    ask: Callable[[Family], dict[str, Any]]
    revoked: int
    dead: tuple[str, ...]


CASES = {
    "an id": Case(lambda f: {"ids": [f.old.info.id]}, 1, ("old",)),
    "two ids": Case(
        lambda f: {"ids": [f.old.info.id, f.child.info.id]}, 2, ("old", "child")
    ),
    "a family": Case(
        lambda f: {"ids": [f.new.info.id], "family": True}, 2, ("old", "new", "child")
    ),
    "a family with its children": Case(
        lambda f: {"ids": [f.old.info.id], "family": True, "children": True},
        3,
        ("old", "new", "child"),
    ),
    "children": Case(
        lambda f: {"ids": [f.old.info.id], "children": True}, 2, ("old", "child")
    ),
    "an owner": Case(lambda f: {"owner": "ann"}, 2, ("old", "new", "child")),
    "a filter": Case(
        lambda f: {"filter": "name=victim kind=data"}, 2, ("old", "new", "child")
    ),
    "what leaked": Case(lambda f: {"leaked": [f.old.token]}, 1, ("old",)),
}
all_selectors = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def make_family(scene: Scene) -> Family:
    scopes = ["observe:*", "token:issue"]
    old = scene.issue(name="victim", owner="ann", scopes=scopes)
    new = scene.rotate(id=old.info.id)
    child = scene.issue(old.token, owner="carol")
    return Family(old, new, child, scene.issue(owner="bob"))


def revoke(scene: Scene, **fields: Any) -> RevokeReply:
    done: RevokeReply = scene.get(
        "Revoke", RevokeReply.FromString, RevokeRequest(**fields)
    )
    return done


def who_can_call(scene: Scene, family: Family) -> dict[str, str]:
    return {name: scene.who(token) for name, token in family.secrets().items()}


def after(case: Case) -> dict[str, str]:
    names = ("old", "new", "child", "other")
    return {name: "TOKEN_REVOKED" if name in case.dead else GOOD for name in names}


@all_selectors
def test_claim_02_what_is_named_ends_on_every_connection_and_nothing_else(
    scene: Scene, case: Case
) -> None:
    family = make_family(scene)
    trainer = scene.home.path / "profile/trainer"
    with ExitStack() as stack:
        held = [
            stack.enter_context(RawClient(trainer, token=token))
            for token in family.secrets().values()
            for _ in range(CONNECTIONS)
        ]
        for raw in held:
            raw.send(raw.request(OBSERVE, batch("hold")).SerializeToString())
        scene.stub.wait_for(running=len(held))
        done = revoke(scene, reason="lost", **case.ask(family))
        ended = CONNECTIONS * len(case.dead)
        scene.stub.wait_for(running=len(held) - ended, cancelled=ended)
        assert (done.revoked, done.already) == (case.revoked, 0)
        assert (done.calls_signalled, len(done.ids)) == (ended, case.revoked)
        assert 0 < done.took_us <= done.durable_us
        assert who_can_call(scene, family) == after(case)
    again = revoke(scene, **case.ask(family))
    assert (again.revoked, again.already) == (0, case.revoked)
    scene.home.tokctl("audit", "verify")


@all_selectors
def test_claim_02_what_is_owed_holds_and_is_written_when_the_disk_is_back(
    scene: Scene, case: Case
) -> None:
    family = make_family(scene)
    scene.stub.do("unwritable 1000")
    asked = RevokeRequest(reason="lost", **case.ask(family))
    assert reason(scene.call("Revoke", asked)) == "OUTCOME_UNRECORDED"
    for name in case.dead:
        assert scene.who(family.secrets()[name]) == "TOKEN_REVOKED"
    scene.stub.do("unwritable 0")
    end = time.monotonic() + PATIENCE_S
    while len(rows(scene.home, "--event", "token.revoke")) < case.revoked:
        assert time.monotonic() < end, scene.stub.log
    scene.stub.do("kill")
    assert scene.stub.wait_end() == "signal 9"
    scene.stub.close()
    scene.stub.start()
    with RawClient(scene.home.path / "profile/trainer") as raw:
        got = {
            name: reason(raw.call(WHO, token=token))
            for name, token in family.secrets().items()
        }
    assert got == after(case)
    assert len(rows(scene.home, "--event", "token.revoke")) == case.revoked


@all_selectors
def test_a_dry_run_counts_and_changes_nothing(scene: Scene, case: Case) -> None:
    family = make_family(scene)
    told = revoke(scene, dry_run=True, **case.ask(family))
    assert (told.revoked, len(told.ids)) == (case.revoked, case.revoked)
    assert set(who_can_call(scene, family).values()) == {GOOD}
    assert not rows(scene.home, "--event", "token.revoke")


def test_claim_02_only_a_whole_secret_has_leaked(scene: Scene) -> None:
    family = make_family(scene)
    text = family.old.token
    wrong = text[:20] + ("A" if text[20] != "A" else "B") + text[21:]
    done = revoke(scene, leaked=[wrong, text[:15], "", "wdt1_" + "0" * 59])
    assert (done.revoked, done.already, done.leaked_unknown) == (0, 0, 4)
    assert set(who_can_call(scene, family).values()) == {GOOD}


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        ({}, "FIELD_INVALID"),
        ({"family": True}, "FIELD_INVALID"),
        ({"owner": "ann", "children": True}, "FIELD_INVALID"),
        ({"ids": ["0123456789"]}, "TOKEN_ID_UNKNOWN"),
        ({"ids": ["short"]}, "FIELD_INVALID"),
        ({"ids": ["0123456789"] * 1025}, "FIELD_INVALID"),
        ({"leaked": ["x"] * 1025}, "FIELD_INVALID"),
        ({"owner": "x" * 65}, "FIELD_INVALID"),
        ({"filter": "colour=red"}, "FIELD_INVALID"),
        ({"owner": "ann", "reason": "x" * 257}, "FIELD_INVALID"),
    ],
)
def test_what_names_no_token_revokes_none(
    shared: Scene, fields: dict[str, Any], want: str
) -> None:
    family = make_family(shared)
    assert reason(shared.call("Revoke", RevokeRequest(**fields))) == want
    assert set(who_can_call(shared, family).values()) == {GOOD}


def test_a_data_token_takes_back_itself_and_no_other(scene: Scene) -> None:
    family = make_family(scene)
    mine, other = family.old, family.other.info.id
    for fields in (
        {"ids": [other]},
        {"ids": [mine.info.id, other]},
        {"ids": [mine.info.id], "family": True},
        {"leaked": [mine.token]},
        {"owner": "ann"},
    ):
        refused = scene.call("Revoke", RevokeRequest(**fields), mine.token)
        assert reason(refused) == "SCOPE_MISSING"
    assert scene.call("Revoke", RevokeRequest(ids=[mine.info.id]), mine.token).code == 0
    assert scene.who(mine.token) == "TOKEN_REVOKED"
    assert scene.call("List", ListRequest()).code == 0
