"""Each item's pair of rows says whose it was, what was asked, and how it ended."""

from __future__ import annotations

import hashlib
import hmac
import json
import ssl
import uuid
from pathlib import Path
from typing import Any

import warded
from warded.v1 import GetObservationReply, GetObservationRequest, Item
from warded.v1 import observation_wd as pb

from tests.conftest import TRAINER, NewGate, NewHome
from tests.integration.items import item
from tests.support.calls import OBSERVE, rows
from tests.support.gate import Home
from tests.support.raw_client import RawClient, call_id
from tests.support.stub_gate import StubGate

Row = dict[str, Any]
DEADLINE_MS = 700


def pairs(home: Home) -> tuple[list[Row], list[Row]]:
    """Begin and end rows of GetObservation, each in the trail's order."""
    found = [json.loads(row) for row in rows(home, "--method", OBSERVE)]
    begun = [row for row in found if row["event"] == "call.begin"]
    ended = [row for row in found if row["event"] == "call.end"]
    assert len(begun) + len(ended) == len(found)
    return begun, ended


def ending(row: Row) -> tuple[object, ...]:
    """Item, outcome, code, reason, and the item's own status."""
    result = json.loads(row.get("detail") or "{}").get("result")
    names = ("item", "outcome", "code", "reason")
    return (*(row.get(name) or None for name in names), result)


def test_claim_08_each_item_has_its_begin_and_its_end(
    stub: StubGate, caller: RawClient
) -> None:
    """(item, event) of all, and of each all that is known of caller and item."""
    actions = [*(f"a {i}" for i in range(20)), "fail", "big 5000"]
    items = [
        Item(trajectory_id=f"t {i}", action=text, tool="python_code")
        for i, text in enumerate(actions)
    ]
    payload = GetObservationRequest(items=items).SerializeToString()
    request = caller.request(OBSERVE, payload, call_id=call_id())
    reply = caller.ask(request)
    begun, ended = pairs(stub.home)
    assert [row["item"] for row in begun] == list(range(len(actions)))
    assert [row["item"] for row in ended] == list(range(len(actions)))
    assert max(row["seq"] for row in begun) < min(row["seq"] for row in ended)
    assert max(row["seq"] for row in ended) == reply.head.seq
    key = (stub.home.path / "state/gate/digest.key").read_bytes()
    folder = stub.home.path / "profile/trainer"
    for i, (begin, end) in enumerate(zip(begun, ended, strict=True)):
        digest = hmac.new(key, actions[i].encode(), hashlib.sha256).hexdigest()
        for row in (begin, end):
            assert row["trajectory_id"] == f"t {i}"
            assert row["digest"] == digest
            assert row["tool"] == "python_code"
            assert row["scope"] == TRAINER
            assert row["call_id"] == str(uuid.UUID(bytes=request.call_id))
            assert row["token_id"] == caller.token[5:15]
            assert row["principal"].endswith("/client/trainer")
            assert row["peer_addr"] == f"127.0.0.1:{caller.port}"
            assert row["peer_cert"] == fingerprint(folder / "cert.pem")
        assert ending(begin) == (i or None, None, None, None, None)
        assert begin["bytes_in"] == len(request.SerializeToString())
        assert not begin.get("duration_us")
        assert not end.get("bytes_in")
        assert end["mono_ns"] > begin["mono_ns"]
        failed = ("failed", 14, "SANDBOX_UNAVAILABLE", "INFRA")
        well = ("ok", None, None, "OK")
        assert ending(end) == (i or None, *(failed if actions[i] == "fail" else well))
        written = 5000 if actions[i] == "big 5000" else len(actions[i])
        assert (end.get("bytes_out") or 0) == (0 if actions[i] == "fail" else written)


def fingerprint(certificate: Path) -> str:
    der = ssl.PEM_cert_to_DER_cert(certificate.read_text())
    return hashlib.sha256(der).hexdigest()


def test_claim_08_durations_and_late_items_are_told_by_item(
    stub: StubGate, caller: RawClient
) -> None:
    """One ran into the deadline, one behind it never began; a third was done."""
    items = [
        Item(trajectory_id="a", action="hold", tool="python_code"),
        Item(trajectory_id="a", action="never", tool="python_code"),
        Item(trajectory_id="b", action="done", tool="python_code"),
    ]
    payload = GetObservationRequest(items=items).SerializeToString()
    reply = caller.call(OBSERVE, payload, timeout_ms=DEADLINE_MS)
    assert reply.code == 0
    _, ended = pairs(stub.home)
    assert [ending(row) for row in ended] == [
        (None, "failed", 4, "RUN_TIMEOUT", "TIMEOUT"),
        (1, "refused", 4, "QUEUE_TIMEOUT", "BUSY"),
        (2, "ok", None, None, "OK"),
    ]
    results = GetObservationReply.FromString(reply.payload).results
    told = [r.timings.queue_us + r.timings.run_us for r in results]
    assert [row.get("duration_us") or 0 for row in ended] == told
    assert told[0] > 0
    assert told[2] > 0
    assert ended[0]["mono_ns"] - began_ns(stub) >= DEADLINE_MS * 900_000


def began_ns(stub: StubGate) -> int:
    """When the first item's begin row was made."""
    return int(pairs(stub.home)[0][0]["mono_ns"])


def test_claim_08_a_cancelled_call_ends_each_of_its_items_on_record(
    stub: StubGate, caller: RawClient
) -> None:
    items = [
        Item(trajectory_id=f"t{i}", action="hold", tool="python_code") for i in range(3)
    ]
    payload = GetObservationRequest(items=items).SerializeToString()
    request = caller.request(OBSERVE, payload)
    caller.send(request.SerializeToString())
    stub.wait_for(running=3)
    caller.send(caller.request("", call_id=request.call_id, kind=1).SerializeToString())
    answers = [caller.receive()[1] for _ in range(2)]
    assert {answer.code for answer in answers} == {0, 1}
    _, ended = pairs(stub.home)
    assert [ending(row) for row in ended] == [
        (i or None, "failed", 1, "CANCELLED", "CANCELLED") for i in range(3)
    ]


def test_claim_08_what_a_real_item_came_to_is_what_its_end_row_says(
    new_home: NewHome, new_gate: NewGate
) -> None:
    home = new_home()
    trainer = home.profile("trainer", TRAINER)
    new_gate(home)
    cases = [
        (item("print('fine')"), "ok", None, None, "OK"),
        (item("1 / 0"), "failed", None, None, "TOOL_ERROR"),
        (item("import os; os.abort()"), "failed", None, None, "TOOL_ERROR"),
        (item("while True: pass", wall_ms=300), "failed", 4, "RUN_TIMEOUT", "TIMEOUT"),
        (
            item("b'x' * (200 << 20)", memory_bytes=64 << 20),
            "failed", 8, None, "RESOURCE_LIMIT",
        ),
        (item("x", tool="no_such"), "refused", 5, "TOOL_UNKNOWN", "INVALID_ACTION"),
        (item("x", wall_ms=10**9), "refused", 3, "FIELD_INVALID", "INVALID_ACTION"),
        (item("", finish=True), "ok", None, None, "OK"),
    ]  # fmt: skip
    items = [case[0] for case in cases]
    for i, one in enumerate(items):
        one.trajectory_id = f"t{i}"
    stub = pb.ObservationStub(warded.connect(trainer))
    results = stub.GetObservation(pb.GetObservationRequest(items=items)).results
    begun, ended = pairs(home)
    assert [row["item"] for row in begun] == list(range(len(cases)))
    assert [ending(row) for row in ended] == [
        (i or None, *case[1:]) for i, case in enumerate(cases)
    ]
    for i, (result, row) in enumerate(zip(results, ended, strict=True)):
        assert pb.Result.Status.Name(result.status) == cases[i][4]
        told = result.timings.queue_us + result.timings.run_us
        assert (row.get("duration_us") or 0) == told
        assert (row.get("bytes_out") or 0) == sum(
            len(content.text.encode()) for content in result.content
        )
        assert (told > 0) == (cases[i][1] != "refused" and not items[i].finish)
