"""Every way in which a token is no good, at the real door: refused, recorded, not run."""

from __future__ import annotations

import json
import re
import shutil
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import warded
from warded.v1 import observation_wd, token_wd

from tests.conftest import NewGate, NewHome
from tests.integration.items import item, send, status
from tests.integration.raw import Raw, call_id, reason, uuid_text
from tests.support.gate import Gate, Home

GOOD = "observe:python_code"
OBSERVE = "/warded.v1.Observation/GetObservation"


@dataclass(frozen=True)
class Door:
    """A gate with a trainer and somebody else, and the secrets of the cases."""

    gate: Gate
    trainer: Path
    secrets: dict[str, str]

    def profile(self, folder: Path, token: str) -> Path:
        """The trainer's own certificate with another token."""
        shutil.copytree(self.trainer, folder)
        (folder / "token").write_text(token)
        return folder


def secret(home: Home, name: str, *words: str) -> str:
    """A token made offline, bound to the trainer."""
    done = home.tokctl("issue", name, *words)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def door() -> Iterator[Door]:
    from tests.conftest import _folders, _gates  # noqa: PLC0415, PLC2701

    with _folders() as make, _gates() as keep:
        home = Home.make(make())
        trainer = home.profile("trainer", GOOD)
        other = home.profile("other", GOOD)
        uri = bound_uri(home)
        mine = ("--bind", f"uri:{uri}", "--scope", GOOD)
        secrets = {
            "expired": secret(home, "short", *mine, "--ttl", "1s"),
            "not_yet": secret(home, "later", *mine, "--not-before", "+1h", "--ttl", "2h"),
            "revoked": secret(home, "gone", *mine),
            "someone": (other / "token").read_text().strip(),
            "malformed": (other / "token").read_text().strip()[:-1] + "!",
            "unknown": stranger(make()),
            "scope": secret(home, "auditor", "--bind", f"uri:{uri}", "--scope", "audit:read"),
            "tool": secret(home, "sql", "--bind", f"uri:{uri}", "--scope", "observe:sql"),
        }
        home.tokctl("revoke", secrets["revoked"][5:15])
        gate = keep(Gate(home))
        time.sleep(1.1)  # until `expired` is
        yield Door(gate, trainer, secrets)


def stranger(path: Path) -> str:
    """A good token of another gate's store, for a client of the same URI."""
    home = Home.make(path)
    home.profile("trainer", GOOD)
    return secret(home, "x", "--bind", f"uri:{bound_uri(home)}", "--scope", GOOD)


def bound_uri(home: Home) -> str:
    """The URI of the trainer's certificate, as its token is bound to it."""
    rows = json.loads(home.tokctl("list", "-o", "json").stdout)
    rows = rows if isinstance(rows, list) else rows["tokens"]
    bind = next(r["bind"] for r in rows if r["name"] == "trainer")
    return str(bind).removeprefix("uri:")


CASES = [
    ("none", "", "TOKEN_MISSING"),
    ("no_token", "please let me in", "TOKEN_MALFORMED"),
    ("malformed", "@malformed", "TOKEN_MALFORMED"),
    ("unknown", "@unknown", "TOKEN_UNKNOWN"),
    ("expired", "@expired", "TOKEN_EXPIRED"),
    ("not_yet", "@not_yet", "TOKEN_NOT_YET"),
    ("revoked", "@revoked", "TOKEN_REVOKED"),
    ("someone_elses", "@someone", "TOKEN_NOT_YOURS"),
    ("wrong_scope", "@scope", "METHOD_UNKNOWN"),
]


@pytest.mark.parametrize(("name", "token", "want"), CASES, ids=[c[0] for c in CASES])
def test_claim_05_bad_token_is_refused_by_cause_and_nothing_runs(
    door: Door, name: str, token: str, want: str
) -> None:
    del name
    token = door.secrets[token[1:]] if token.startswith("@") else token
    mark = f"/tmp/warded-mark-{uuid.uuid4().hex}"  # noqa: S108 - it must not appear
    request = observation_wd.GetObservationRequest(
        items=[item(f"open({mark!r}, 'w').write('x')", trajectory_id=mark)]
    )
    once = call_id()
    with Raw(door.trainer) as raw:
        reply = raw.ask(OBSERVE, request, token=token, call_id=once)
    assert reason(reply) == want, reply.message
    assert reply.message
    assert not reply.payload
    assert len(token) < 64 or token[15:] not in reply.message, "no secret in an error"
    assert not Path(mark).exists()
    rows = rows_of(door.gate, once)
    assert [r["reason"] for r in rows] == [want], "one row, with the reason"
    assert not any(r["event"] == "call.begin" for r in rows), "nothing began"


def rows_of(gate: Gate, once: bytes) -> list[dict[str, object]]:
    """The rows of one call, all of them."""
    words = ("audit", "query", "--call", uuid_text(once), "-o", "jsonl")
    return [json.loads(row) for row in gate.home.tokctl(*words).stdout.splitlines()]


def test_claim_05_tool_out_of_scope_is_denied_for_its_item(door: Door, tmp_path: Path) -> None:
    profile = door.profile(tmp_path / "profile", door.secrets["tool"])
    mark = f"/tmp/warded-mark-{uuid.uuid4().hex}"  # noqa: S108
    result = send(profile, item(f"open({mark!r}, 'w')"))[0]
    assert status(result) == "DENIED"
    assert result.reason == int(warded.Reason.SCOPE_MISSING)
    assert not result.content
    assert not Path(mark).exists()


def test_claim_05_revoked_while_the_gate_runs(new_home: NewHome, new_gate: NewGate) -> None:
    """The answer of Revoke is the end of the token: running calls of it end too."""
    home = new_home()
    trainer = home.profile("trainer", GOOD)
    gate = new_gate(home)
    admin = token_wd.TokenStub(warded.connect(home.admin))
    mine = token_wd.TokenStub(warded.connect(trainer))
    token_id = mine.WhoAmI(token_wd.WhoAmIRequest(), timeout=10).token.id
    running: list[warded.RpcError | str] = []

    def work() -> None:
        try:
            result = send(trainer, item("import time; time.sleep(50)", wall_ms=60000))[0]
            running.append(status(result))
        except warded.RpcError as error:
            running.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    begun = re.compile(r"call\.begin")
    end = time.monotonic() + 20
    while not begun.search(
        gate.home.tokctl("audit", "query", "--event", "call.begin", "--token", token_id).stdout
    ):
        assert time.monotonic() < end
        time.sleep(0.05)
    reply = admin.Revoke(token_wd.RevokeRequest(ids=[token_id], reason="test"), timeout=10)
    assert (reply.revoked, reply.already) == (1, 0)
    with pytest.raises(warded.Unauthenticated) as caught:
        mine.WhoAmI(token_wd.WhoAmIRequest(), timeout=10)
    assert caught.value.reason.name == "TOKEN_REVOKED"
    thread.join(10)
    assert not thread.is_alive(), "the running call was ended"
    assert running
    assert running[0] != "OK"
    again = admin.Revoke(token_wd.RevokeRequest(ids=[token_id]), timeout=10)
    assert (again.revoked, again.already) == (0, 1)


def test_claim_05_nobody_issues_what_they_do_not_hold(new_home: NewHome, new_gate: NewGate) -> None:
    home = new_home()
    new_gate(home)
    admin = token_wd.TokenStub(warded.connect(home.admin))
    ask = token_wd.IssueRequest(name="wide", scopes=["audit:prune"], ttl_ms=60000)
    with pytest.raises(warded.PermissionDenied) as caught:
        admin.Issue(ask, timeout=10)
    assert caught.value.reason.name == "SCOPE_MISSING"
