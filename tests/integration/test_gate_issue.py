"""Tokens issued over the door: nobody gives more than they have, nor for longer."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator

import pytest
from warded.v1 import IssueReply, IssueRequest, Reply, WhoAmIReply

from tests.conftest import NewHome
from tests.support.calls import WHO, reason, rows
from tests.support.gate import Home
from tests.support.raw_client import RawClient
from tests.support.stub_gate import StubGate

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


@pytest.fixture
def home(new_home: NewHome) -> Home:
    made = new_home()
    made.profile("boss", "token:**", "observe:**", ttl="2h")
    return made


@pytest.fixture
def boss(home: Home) -> Iterator[RawClient]:
    with StubGate(home), RawClient(home.path / "profile/boss") as raw:
        yield raw


def ask(raw: RawClient, token: str | None = None, /, **fields: object) -> Reply:
    asked: dict[str, object] = {"name": "x", "scopes": ["observe:python_code"]}
    request = IssueRequest(**(asked | fields)).SerializeToString()
    said = {} if token is None else {"token": token}
    return raw.call("/warded.v1.Token/Issue", request, **said)


def issue(raw: RawClient, token: str | None = None, /, **fields: object) -> IssueReply:
    reply = ask(raw, token, **fields)
    assert reply.code == 0, reply.message
    return IssueReply.FromString(reply.payload)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@pytest.mark.parametrize(
    "fields",
    [
        {"ttl_ms": 30 * DAY_MS},
        {"ttl_ms": 2 * HOUR_MS + 60_000},
        {"kind": "admin", "ttl_ms": 3 * HOUR_MS},
        {"ttl_ms": 2 * HOUR_MS, "not_before_ms": now_ms() + HOUR_MS},
        {"not_before_ms": now_ms() + 3 * HOUR_MS},
    ],
)
def test_claim_05_no_token_outlives_the_one_it_was_issued_with(
    home: Home, boss: RawClient, fields: dict[str, object]
) -> None:
    reply = ask(boss, **fields)
    assert reason(reply) == "FIELD_INVALID"
    own = boss.token[5:15]
    (mine,) = [
        json.loads(json.loads(row)["detail"])["expires_ms"]
        for row in rows(home, "--event", "token.issue", "--token", own)
    ]
    assert f"token {own}" in reply.message
    assert f"expires at {mine} ms" in reply.message
    assert "it would expire at" in reply.message


def test_claim_05_what_was_not_asked_for_ends_with_the_issuer(boss: RawClient) -> None:
    parent = issue(boss, scopes=["token:**", "observe:**"], ttl_ms=600_000)
    child = issue(boss, parent.token)
    assert child.info.expires_ms == parent.info.expires_ms
    usual = issue(boss)
    assert usual.info.expires_ms - usual.info.not_before_ms == HOUR_MS
    short = issue(boss, parent.token, ttl_ms=60_000)
    assert short.info.expires_ms < parent.info.expires_ms
    assert boss.call(WHO, token=child.token).code == 0


def test_a_token_keeps_the_id_of_the_one_it_was_issued_with(
    home: Home, boss: RawClient
) -> None:
    child = issue(boss).info.id
    parent = boss.token[5:15]
    (row,) = rows(home, "--event", "token.issue", "--token", child)
    assert json.loads(json.loads(row)["detail"])["parent"] == parent
    with sqlite3.connect(home.store / "store.db") as db:
        found = db.execute("SELECT id, parent FROM tokens ORDER BY rowid").fetchall()
    db.close()
    assert found[-2:] == [(parent, ""), (child, parent)]
    home.tokctl("audit", "verify")


def test_claim_05_a_token_for_some_gates_issues_for_no_others(
    boss: RawClient,
) -> None:
    here = WhoAmIReply.FromString(boss.call(WHO).payload).token.audience
    assert here, "a profile's token is for its gate"
    for other in ("spiffe://*/**", here.replace("/ns/default/", "/ns/*/"), f"{here}x"):
        wider = ask(boss, audience=other)
        assert reason(wider) == "FIELD_INVALID"
        assert here in wider.message
    assert issue(boss).info.audience == here
    assert issue(boss, audience=here).info.audience == here
