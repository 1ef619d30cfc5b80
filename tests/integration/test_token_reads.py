"""What is told of tokens over the door, and the bounds of what may be asked for."""

from __future__ import annotations

from typing import Any

import pytest
from warded.v1 import (
    CheckReply,
    CheckRequest,
    IssueRequest,
    ListReply,
    ListRequest,
    Reason,
    RetireRequest,
    TokenRate,
)

from tests.support.calls import reason
from tests.support.token_scene import GOOD, HOUR_MS, MINUTE_MS, Scene


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"bind": "key:12"}, "bind"),
        ({"bind": "cert:" + "A" * 64}, "bind"),
        ({"idle_ms": 59_999}, "idle_ms"),
        ({"idle_ms": 30 * 24 * HOUR_MS + 1}, "idle_ms"),
        ({"max_uses": 2**40 + 1}, "max_uses"),
        ({"max_uses": 2**63}, "max_uses"),
        ({"rate": TokenRate(calls=1)}, "rate"),
        ({"rate": TokenRate(calls=1_000_001, per_ms=1000)}, "rate.calls"),
        ({"rate": TokenRate(calls=1, per_ms=999)}, "rate.per_ms"),
        ({"rate": TokenRate(calls=1, per_ms=3_600_001)}, "rate.per_ms"),
        ({"concurrency": 4097}, "concurrency"),
        ({"renewable_ms": HOUR_MS - 1}, "renewable_ms"),
        ({"renewable_ms": 30 * 24 * HOUR_MS + 1}, "renewable_ms"),
        ({"wrap_ttl_ms": 999}, "wrap_ttl_ms"),
        ({"wrap_ttl_ms": 24 * HOUR_MS + 1}, "wrap_ttl_ms"),
        ({"wrap_ttl_ms": HOUR_MS}, "wrap_ttl_ms"),
        ({"wrap_ttl_ms": MINUTE_MS, "not_before_ms": 1}, "not_before_ms"),
    ],
)
def test_bounds_of_what_may_be_asked_for(
    shared: Scene, fields: dict[str, Any], word: str
) -> None:
    asked = {"name": "x", "scopes": ["observe:sql"], "ttl_ms": HOUR_MS} | fields
    reply = shared.call("Issue", IssueRequest(**asked))
    assert reason(reply) == "FIELD_INVALID"
    assert word in reply.message


def test_claim_03_check_says_why_by_id(scene: Scene) -> None:
    made = scene.issue(max_uses=1)

    def ask(**fields: Any) -> CheckReply:
        asked = CheckRequest(id=made.info.id, **fields)
        told: CheckReply = scene.get("Check", CheckReply.FromString, asked)
        return told

    observe = "/warded.v1.Observation/GetObservation"
    assert ask(method=observe, object="python_code").allowed
    other = ask(method=observe, object="sql")
    assert (other.allowed, other.reason) == (False, Reason.SCOPE_MISSING)
    assert "observe:sql" in other.message
    assert ask(method="/warded.v1.Audit/Query").reason == Reason.SCOPE_MISSING
    assert ask(method="/no.such/Method").reason == Reason.METHOD_UNKNOWN
    assert ask(principal="spiffe://x/y").reason == Reason.TOKEN_NOT_YOURS
    assert scene.who(made.token) == GOOD
    spent = ask()
    assert spent.reason == Reason.TOKEN_USES_SPENT
    assert [r.rule for r in spent.rules if not r.ok] == ["uses"]
    scene.call("Retire", RetireRequest(id=made.info.id))
    unknown = scene.call("Check", CheckRequest(id="0123456789"))
    assert reason(unknown) == "TOKEN_ID_UNKNOWN"
    assert scene.show(id=made.info.id).info.uses == 1, "to ask is no use"


def test_a_list_is_filtered_sorted_and_goes_on_where_it_stopped(scene: Scene) -> None:
    names = [f"t{n:02}" for n in range(7)]
    for name in names:
        scene.issue(name=name, owner="ann" if name < "t05" else "bob")

    def read(**fields: Any) -> ListReply:
        page: ListReply = scene.get("List", ListReply.FromString, ListRequest(**fields))
        return page

    seen: list[str] = []
    cursor = ""
    while True:
        page = read(
            filter="owner=ann,bob", sort="-name", limit=3, cursor=cursor, count=True
        )
        assert page.total == 7
        seen += [info.name for info in page.tokens]
        cursor = page.next_cursor
        if not cursor:
            break
    assert seen == names[::-1]
    assert [i.name for i in read(filter="owner=bob state=active").tokens] == [
        "t05",
        "t06",
    ]
    assert not read(filter="owner=bob used>-1h").tokens
    assert read(filter="owner!=ann,bob kind=*").tokens
    for bad in (
        {"filter": "owner"},
        {"filter": "colour=red"},
        {"filter": "name<a"},
        {"filter": "used<yesterday"},
        {"filter": 'name="x'},
        {"filter": "x" * 1025},
        {"sort": "colour"},
        {"limit": 10_001},
        {"cursor": "abc"},
        {"cursor": "x.0123456789"},
    ):
        assert reason(scene.call("List", ListRequest(**bad))) == "FIELD_INVALID", bad


def test_a_tree_has_parents_before_children(scene: Scene) -> None:
    top = scene.issue(scopes=["token:issue", "observe:*"])
    middle = scene.issue(top.token, scopes=["token:issue", "observe:*"])
    leaf = scene.issue(middle.token)
    scene.issue(top.token)
    shown = scene.show(id=top.info.id, tree=True)
    assert [node.depth for node in shown.tree] == [1, 2, 1]
    assert [n.info.id for n in shown.tree][:2] == [middle.info.id, leaf.info.id]
    assert (shown.children, shown.tree_cut) == (3, False)
    assert not scene.show(id=leaf.info.id, tree=True).tree
