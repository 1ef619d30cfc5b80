"""tokctl asks a gate: verbs over RPC."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.ctl import Ctl
from tests.support.gate import program
from tests.support.store import (
    DENIED,
    NOT_FOUND,
    TOKEN,
    USAGE,
)

TRAINER = "uri:spiffe://warded.local/ns/default/owner/root/client/trainer"


# --- verbs --------------------------------------------------------------------------


def test_whoami_says_whom_the_gate_takes_us_for(boss: Ctl) -> None:
    me = boss.json("whoami")
    assert me["principal"].endswith("/client/boss")
    assert "/gate/" in me["gate"]
    assert me["token"]["scopes"] == ["token:**", "observe:**", "audit:*", "health:*"]
    assert len(me["certificate_sha256"]) == 64
    assert boss("whoami", "--field", "token.name").stdout == "boss\n"


def test_health_says_how_the_gate_is(reader: Ctl) -> None:
    health = reader.json("health")
    assert health["status"] == "serving"
    assert "principal" not in health


def test_issue_tells_the_secret_once_over_rpc(boss: Ctl, tmp_path: Path) -> None:
    out = tmp_path / "token"
    words = ("issue", "t1", "--scope", "observe:python_code", "--bind", TRAINER)
    done = boss(*words, "--ttl", "5m", "--out", str(out))
    assert done.stdout == ""
    secret = out.read_text().strip()
    assert TOKEN.fullmatch(secret)
    assert out.stat().st_mode & 0o777 == 0o600
    assert done.stderr == f"id: {secret[5:15]}\n"
    assert secret[15:] not in done.stderr


def test_claim_05_token_is_bound_to_ourselves_and_for_no_other_pool(boss: Ctl) -> None:
    words = ("issue", "t4", "--scope", "observe:python_code", "-o", "json")
    for bind in ((), ("--bind", "self")):
        made = json.loads(boss(*words, *bind).stdout)
        assert made["bind"].endswith("/client/boss")
    done = boss(*words, "--pool", "blue", status=USAGE)
    assert "/pool/blue/gate/*" in done.stderr  # our own token is for this gate alone


def test_issue_of_what_we_do_not_hold_is_refused_and_leaves_no_file(
    reader: Ctl, tmp_path: Path
) -> None:
    out = tmp_path / "token"
    words = ("issue", "t2", "--scope", "observe:python_code", "--out", str(out))
    done = reader(*words, status=DENIED)
    assert "METHOD_UNKNOWN" in done.stderr
    assert not out.exists()


def test_revoke_over_rpc_takes_back_at_once(boss: Ctl) -> None:
    words = ("issue", "t3", "--scope", "observe:python_code", "-o", "json")
    token_id = json.loads(boss(*words).stdout)["id"]
    done = boss.json("revoke", token_id, "--reason", "tidy")
    assert done["revoked"] == 1
    assert boss.json("revoke", token_id)["already"] == 1
    boss("revoke", "nosuchtokn", status=NOT_FOUND)


def test_audit_query_pages_through_all_rows(reader: Ctl, boss: Ctl) -> None:
    for _ in range(3):
        boss("whoami")
    rows = reader.json("audit", "query", "--limit", "0")
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
    first = reader("audit", "query", "--limit", "2", "-o", "jsonl")
    assert first.stderr == "there are more: go on with --from 3\n"
    some = reader.json("audit", "query", "--event", "token.*", "--limit", "0")
    assert {row["event"].split(".")[0] for row in some} <= {"token"}
    assert all(len(row["hash"]) == 64 for row in rows)


def test_call_speaks_json_both_ways(reader: Ctl) -> None:
    reply = json.loads(reader("call", "Health/Check").stdout)
    assert reply["status"] == "SERVING"
    data = '{"limit": 2, "filter": {"event": "gate.*"}}'
    page = json.loads(reader("call", "warded.v1.Audit/Query", "--data", data).stdout)
    assert page["rows"][0]["event"] == "gate.start"
    stdin = reader("call", "Audit/Query", "--data", "@-", text='{"limit": "1"}')
    assert len(json.loads(stdin.stdout)["rows"]) == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("call",), "METHOD is missing"),
        (("call", "No/Such"), "no such method"),
        (("call", "Audit/Query", "--data", "{"), "--data"),
        (("call", "Audit/Query", "--data", "[]"), "JSON object"),
        (("call", "Audit/Query", "--data", '{"frob": 1}'), "frob"),
        (("call", "Audit/Query", "--data", '{"limit": -1}'), "limit"),
        (("call", "Audit/Query", "--data", '{"limit": 4294967296}'), "limit"),
        (("call", "Audit/Query", "--data", '{"limit": "5s"}'), "0 to 4294967295"),
        (("call", "Audit/Query", "--data", '{"limit": " 5"}'), "0 to 4294967295"),
        (("call", "Audit/Query", "--data", '{"limit": "+5"}'), "0 to 4294967295"),
        (("call", "Audit/Query", "--data", '{"limit": ""}'), "0 to 4294967295"),
        (("call", "Audit/Query", "--data", '{"limit": 5.5}'), "0 to 4294967295"),
        (("call", "Audit/Query", "--data", '{"from_seq": "-1"}'), "from_seq"),
        (
            ("call", "Audit/Query", "--data", '{"from_seq": "18446744073709551616"}'),
            "0 to 18446744073709551615",
        ),
        (("call", "Audit/Query", "--data", '{"order": "SIDEWAYS"}'), "order"),
        (("call", "Audit/Query", "--data", '{"order": 4294967296}'), "2147483647"),
        (("call", "Audit/Query", "--data", '{"order": -2147483649}'), "-2147483648"),
        (("call", "Audit/Query", "--data", '{"order": 99}'), "none of its values"),
        (("call", "Audit/Query", "--data", '{"filter": {"codes": 3}}'), "codes"),
        (("call", "Audit/Query", "--data", '{"limit": 1, "limit": 2}'), "duplicate"),
        (("call", "Health/Check", "--data", '{"padding": "!"}'), "base64"),
    ],
)
def test_call_refuses_by_cause(reader: Ctl, words: tuple[str, ...], says: str) -> None:
    assert says in reader(*words, status=USAGE).stderr


def test_describe_lists_methods_and_fields_without_a_gate() -> None:
    done = subprocess.run(
        [program("tokctl"), "describe", "Token/Issue"],
        env={"HOME": "/nowhere"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "ttl_ms: uint64" in done.stdout
    assert "scope: token:issue" in done.stdout
