"""Who reads the trail is in it, and what level request keeps of a call."""

from __future__ import annotations

import json
from pathlib import Path

from warded.v1 import AuditFilter, QueryReply, QueryRequest

from tests.conftest import NewHome
from tests.support.calls import OBSERVE, batch, reason, results, rows
from tests.support.gate import Home
from tests.support.raw_client import RawClient
from tests.support.stub_gate import StubGate

QUERY = "/warded.v1.Audit/Query"
FIRST = 'password = "hunter2"\nprint(1)'


def of_event(home: Home, event: str, *filters: str) -> list[dict[str, str]]:
    return [json.loads(row) for row in rows(home, "--event", event, *filters)]


def ask(raw: RawClient, **filters: str) -> QueryReply:
    request = QueryRequest(limit=5, filter=AuditFilter(**filters))
    reply = raw.call(QUERY, request.SerializeToString())
    assert reply.code == 0, reply.message
    return QueryReply.FromString(reply.payload)


def test_claim_07_a_query_is_on_record_before_its_answer(new_home: NewHome) -> None:
    home = new_home()
    auditor = home.profile("auditor", "audit:read")
    with StubGate(home) as stub, RawClient(auditor) as raw:
        answer = ask(raw, event="gate.*", principal="spiffe://x/y")
        assert len(answer.rows) == 0
        answer = ask(raw, event="gate.*")
        first, second = of_event(home, "audit.query")
        assert first["token_id"] == raw.token[5:15]
        assert first["method"] == QUERY
        said = json.loads(first["detail"])
        asked = {"event": "gate.*", "principal": "spiffe://x/y"}
        assert said["request"] == {"limit": 5, "filter": asked}
        assert said["rows"] == 0
        said = json.loads(second["detail"])
        assert said["rows"] == len(answer.rows) >= 1
        assert said["first_seq"] == answer.rows[0].seq
        assert said["last_seq"] == answer.rows[-1].seq
        stub.do("unwritable 1000")  # what is not on record is not answered
        reply = raw.call(QUERY, QueryRequest().SerializeToString())
        assert reason(reply) == "AUDIT_UNWRITABLE"
        assert reply.payload == b""
        stub.do("unwritable 0")


def observe(home: Home, trainer: Path, *actions: str) -> list[str]:
    with StubGate(home), RawClient(trainer) as raw:
        got = results(raw.call(OBSERVE, batch(*actions)))
    assert got == ["OK"] * len(actions)
    begun = of_event(home, "call.begin", "--method", OBSERVE)
    return [row.get("detail") or "" for row in begun]


def test_claim_07_level_request_keeps_each_item_without_its_secrets(
    new_home: NewHome,
) -> None:
    home = new_home()
    trainer = home.profile("trainer", "observe:python_code")
    assert "\naudit:" not in home.config.read_text()
    home.configure("audit: {level: request}")
    secret = (trainer / "token").read_text().strip()
    details = observe(home, trainer, FIRST, f"use {secret} now", "x" * 10_000)
    kept = [json.loads(detail)["request"] for detail in details]
    assert [item["trajectory_id"] for item in kept] == ["t0", "t1", "t2"]
    assert kept[0]["action"] == 'password = "[redacted]"\nprint(1)'
    assert kept[1]["action"] == f"use {secret[:15]}[redacted] now"
    assert kept[2]["action"].endswith("...(6928 bytes more)")
    home.tokctl("audit", "verify")


def test_claim_07_by_default_no_payload_is_kept(new_home: NewHome) -> None:
    home = new_home()
    trainer = home.profile("trainer", "observe:python_code")
    assert observe(home, trainer, FIRST) == [""]
