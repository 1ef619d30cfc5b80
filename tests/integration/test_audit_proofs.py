"""Audit.Show, Verify, Checkpoint and Stats, asked of a gate."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from warded.v1 import (
    AuditHead,
    AuditShowReply,
    AuditShowRequest,
    CheckpointReply,
    CheckpointRequest,
    Reply,
    StatsReply,
    StatsRequest,
    VerifyReply,
    VerifyRequest,
)

from tests.conftest import NewHome
from tests.support.calls import OBSERVE, batch, reason, results, rows
from tests.support.raw_client import RawClient
from tests.support.stub_gate import StubGate

AUDIT = "/warded.v1.Audit/"


@pytest.fixture
def stub(new_home: NewHome) -> Iterator[StubGate]:
    home = new_home()
    home.profile("trainer", "observe:python_code")
    home.profile("auditor", "audit:read")
    with StubGate(home) as gate:
        yield gate


@pytest.fixture
def auditor(stub: StubGate) -> Iterator[RawClient]:
    with RawClient(stub.home.path / "profile/auditor") as raw:
        yield raw


def act(stub: StubGate) -> Reply:
    with RawClient(stub.home.path / "profile/trainer") as raw:
        reply = raw.call(OBSERVE, batch("a"))
    assert results(reply) == ["OK"]
    return reply


def payload(raw: RawClient, method: str, request: bytes) -> bytes:
    reply = raw.call(AUDIT + method, request)
    assert reply.code == 0, reply.message
    return bytes(reply.payload)


def show(raw: RawClient, request: AuditShowRequest) -> AuditShowReply:
    return AuditShowReply.FromString(payload(raw, "Show", request.SerializeToString()))


def verify(raw: RawClient, request: VerifyRequest) -> VerifyReply:
    return VerifyReply.FromString(payload(raw, "Verify", request.SerializeToString()))


def checkpoint(raw: RawClient, request: CheckpointRequest) -> CheckpointReply:
    request_bytes = request.SerializeToString()
    return CheckpointReply.FromString(payload(raw, "Checkpoint", request_bytes))


def change(stub: StubGate, statement: str, *values: int) -> None:
    """As an intruder would, beside the gate."""
    store = Path(stub.home.path / "state/store/store.db")
    with sqlite3.connect(store, timeout=30) as db:
        db.execute(statement, values)
    db.close()


def test_claim_07_show_gives_a_row_with_its_proof(
    stub: StubGate, auditor: RawClient
) -> None:
    head = act(stub).head
    signed = checkpoint(auditor, CheckpointRequest(now=True))
    assert signed.seq >= head.seq
    one = show(auditor, AuditShowRequest(seq=head.seq))
    assert [row.seq for row in one.rows] == [head.seq]
    assert one.rows[0].hash == head.hash
    assert one.hash_ok
    assert one.segment == "open"
    assert one.checkpoint.startswith("warded-audit ")
    assert int(one.checkpoint.splitlines()[1]) >= head.seq
    both = show(auditor, AuditShowRequest(call_id=one.rows[0].call_id))
    assert [row.event for row in both.rows] == ["call.begin", "call.end"]
    change(stub, "UPDATE audit SET tool = 'x' WHERE seq = ?", head.seq)
    assert not show(auditor, AuditShowRequest(seq=head.seq)).hash_ok


@pytest.mark.parametrize(
    ("request_", "want"),
    [
        (AuditShowRequest(), "FIELD_INVALID"),
        (AuditShowRequest(seq=1, call_id="x"), "FIELD_INVALID"),
        (AuditShowRequest(seq=1 << 63), "FIELD_INVALID"),
    ],
)
def test_claim_07_show_of_nothing_is_refused(
    auditor: RawClient, request_: AuditShowRequest, want: str
) -> None:
    assert reason(auditor.call(AUDIT + "Show", request_.SerializeToString())) == want


def test_claim_07_show_of_a_row_that_is_not_there_is_not_found(
    auditor: RawClient,
) -> None:
    request = AuditShowRequest(seq=1_000_000)
    assert auditor.call(AUDIT + "Show", request.SerializeToString()).code == 5


def test_claim_08_verify_answers_and_names_what_is_wrong(
    stub: StubGate, auditor: RawClient
) -> None:
    head = act(stub).head
    text = checkpoint(auditor, CheckpointRequest(now=True)).checkpoint
    seen = [AuditHead(seq=head.seq, hash=head.hash)]
    sound = verify(auditor, VerifyRequest(witnessed=seen))
    assert (sound.ok, sound.fault, sound.witnessed) == (True, VerifyReply.SOUND, 1)
    assert sound.checkpoints >= 1, "signatures were checked"
    assert sound.tokens >= 2
    assert verify(auditor, VerifyRequest(checkpoint=text)).ok

    when = text.splitlines()[3]
    other = text.replace(when, when[:-2] + ("0Z" if when[-2] != "0" else "1Z"))
    wrong = verify(auditor, VerifyRequest(checkpoint=other))
    assert (wrong.ok, wrong.fault) == (False, VerifyReply.CHECKPOINT_BAD)
    forked = [AuditHead(seq=head.seq, hash=bytes(32))]
    wrong = verify(auditor, VerifyRequest(witnessed=forked))
    assert (wrong.fault, wrong.bad_seq) == (VerifyReply.FORKED, head.seq)
    later = [AuditHead(seq=head.seq + 1000, hash=bytes(32))]
    assert verify(auditor, VerifyRequest(witnessed=later)).fault == VerifyReply.TAIL_CUT
    change(stub, "UPDATE audit SET tool = 'x' WHERE seq = ?", head.seq)
    wrong = verify(auditor, VerifyRequest())
    assert (wrong.fault, wrong.bad_seq) == (VerifyReply.ROW_CHANGED, head.seq)
    assert f"audit row {head.seq} was changed" in wrong.message


def test_claim_08_what_is_no_head_or_checkpoint_is_refused(auditor: RawClient) -> None:
    for request in (
        VerifyRequest(checkpoint="warded-audit x\n"),
        VerifyRequest(witnessed=[AuditHead(seq=1, hash=b"short")]),
        VerifyRequest(from_seq=1 << 63),
    ):
        reply = auditor.call(AUDIT + "Verify", request.SerializeToString())
        assert reason(reply) == "FIELD_INVALID", request


def test_claim_07_stats_count_what_there_is(stub: StubGate, auditor: RawClient) -> None:
    act(stub)
    request = StatsRequest().SerializeToString()
    stats = StatsReply.FromString(payload(auditor, "Stats", request))
    counts = {(count.what, count.value): count.rows for count in stats.counts}
    assert counts["event", "gate.start"] == 1
    assert counts["method", OBSERVE] == 2
    assert stats.rows == stats.head.seq
    assert [segment.sealed for segment in stats.segments] == [False]
    assert stats.bytes == stats.segments[0].bytes > 0
    assert stats.rows_per_day > 0
    assert stats.bytes_per_day > 0
    assert not stats.no_end
    assert stats.free_bytes > 0


def test_claim_07_each_read_is_on_record(stub: StubGate, auditor: RawClient) -> None:
    show(auditor, AuditShowRequest(seq=1))
    verify(auditor, VerifyRequest())
    payload(auditor, "Stats", StatsRequest().SerializeToString())
    reads = [json.loads(row) for row in rows(stub.home, "--event", "audit.query")]
    methods = [AUDIT + name for name in ("Show", "Verify", "Stats")]
    assert [row["method"] for row in reads] == methods


def test_claim_07_without_the_role_nothing_is_read(stub: StubGate) -> None:
    with RawClient(stub.home.path / "profile/trainer") as raw:
        for method in ("Query", "Show", "Verify", "Checkpoint", "Stats"):
            assert raw.call(AUDIT + method).code == 7
    assert rows(stub.home, "--event", "audit.query") == []
