"""Audit.Tail: rows as they come, each once, without a thread that waits."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator

import pytest
from warded.v1 import (
    AuditFilter,
    HeadReply,
    HeadRequest,
    TailReply,
    TailRequest,
)

from tests.support.calls import OBSERVE, batch, reason, results, rows
from tests.support.gate import Home, program
from tests.support.raw_client import RawClient
from tests.support.stub_gate import StubGate

TAIL = "/warded.v1.Audit/Tail"
CALLS = {"event": "call.*", "method": OBSERVE}


@pytest.fixture(scope="module")
def stub(module_home: Home) -> Iterator[StubGate]:
    module_home.profile("trainer", "observe:python_code")
    module_home.profile("auditor", "audit:read")
    with StubGate(module_home) as gate:
        yield gate


@pytest.fixture
def auditor(stub: StubGate) -> Iterator[RawClient]:
    with RawClient(stub.home.path / "profile/auditor") as raw:
        yield raw


def act(stub: StubGate) -> None:
    with RawClient(stub.home.path / "profile/trainer") as raw:
        assert results(raw.call(OBSERVE, batch("a"))) == ["OK"]


def tail(raw: RawClient, request: TailRequest) -> TailReply:
    reply = raw.call(TAIL, request.SerializeToString(), timeout_ms=60_000)
    assert reply.code == 0, reply.message
    return TailReply.FromString(reply.payload)


def newest(raw: RawClient) -> int:
    reply = raw.call("/warded.v1.Audit/Head", HeadRequest().SerializeToString())
    return int(HeadReply.FromString(reply.payload).head.seq)


def test_claim_07_tail_gives_the_newest_rows_and_where_to_go_on(
    stub: StubGate, auditor: RawClient
) -> None:
    act(stub)
    told = tail(auditor, TailRequest(limit=2, filter=AuditFilter(**CALLS)))
    assert [row.event for row in told.rows] == ["call.begin", "call.end"]
    assert told.next_seq == told.head.seq + 1
    again = tail(auditor, TailRequest(from_seq=told.next_seq))
    assert not again.rows  # its own readers' rows wake nobody
    assert again.next_seq > told.next_seq
    act(stub)
    fresh = tail(auditor, TailRequest(from_seq=again.next_seq))
    assert {row.method for row in fresh.rows} == {OBSERVE}
    first = tail(auditor, TailRequest(from_seq=1, limit=1))
    assert (first.rows[0].seq, first.next_seq) == (1, 2)


def test_claim_07_tail_waits_for_a_row_and_tells_it_once(
    stub: StubGate, auditor: RawClient
) -> None:
    start = newest(auditor) + 1
    waiting = threading.Thread(target=act, args=(stub,))
    seen: list[int] = []
    waiting.start()
    while len(seen) < 2:
        told = tail(auditor, TailRequest(from_seq=start, wait_ms=60_000))
        seen += [row.seq for row in told.rows if row.method == OBSERVE]
        start = told.next_seq
    waiting.join()
    assert len(seen) == len(set(seen)) == 2


def test_claim_07_a_wait_ends_when_it_is_over_or_the_gate_asks(
    stub: StubGate, auditor: RawClient
) -> None:
    start = newest(auditor) + 1
    told = tail(auditor, TailRequest(from_seq=start, wait_ms=150))
    assert not told.rows
    reply = auditor.call(  # before the call's own deadline
        TAIL,
        TailRequest(from_seq=told.next_seq, wait_ms=60_000).SerializeToString(),
        timeout_ms=1_000,
    )
    assert reply.code == 0, reply.message


@pytest.mark.parametrize(
    "request_",
    [
        TailRequest(limit=1001),
        TailRequest(wait_ms=60_001),
        TailRequest(from_seq=1 << 63),
        TailRequest(filter=AuditFilter(since_ms=1 << 63)),
        TailRequest(filter=AuditFilter(event="x" * 129)),
        TailRequest(filter=AuditFilter(codes=[17])),
    ],
)
def test_claim_07_tail_refuses(auditor: RawClient, request_: TailRequest) -> None:
    assert reason(auditor.call(TAIL, request_.SerializeToString())) == "FIELD_INVALID"


def test_claim_07_tail_takes_the_scope_of_readers(stub: StubGate) -> None:
    with RawClient(stub.home.path / "profile/trainer") as raw:
        refused = raw.call(TAIL, TailRequest().SerializeToString())
    assert reason(refused) in ("SCOPE_MISSING", "METHOD_UNKNOWN")


def test_claim_07_reading_by_tail_is_on_record(auditor: RawClient) -> None:
    start = newest(auditor) + 1
    tail(auditor, TailRequest(limit=3))
    asked = TailRequest(from_seq=start, filter=AuditFilter(event="audit.query"))
    (row,) = tail(auditor, asked).rows
    assert (row.event, row.method) == ("audit.query", TAIL)
    assert json.loads(row.detail)["rows"] == 3


def test_claim_07_tokctl_follows_a_gate(stub: StubGate) -> None:
    words = ("audit", "tail", "-n", "1", "-f", "-o", "jsonl", "--event", "call.*")
    profile = stub.home.path / "profile/auditor"
    command = [str(program("tokctl")), *words, "--method", OBSERVE]
    command += ["--profile", str(profile)]
    act(stub)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as follower:
        assert follower.stdout is not None
        lines = [follower.stdout.readline()]
        for _ in range(3):
            act(stub)
            lines += [follower.stdout.readline(), follower.stdout.readline()]
        follower.terminate()
    told = [json.loads(line) for line in lines]
    seqs = [row["seq"] for row in told]
    assert seqs == sorted(set(seqs))
    assert [row["event"] for row in told[1:]] == ["call.begin", "call.end"] * 3


def test_claim_07_a_gate_that_stops_lets_no_follower_wait(stub: StubGate) -> None:
    calls = ("--event", "call.begin", "--method", TAIL)
    before = len(rows(stub.home, *calls))
    with RawClient(stub.home.path / "profile/auditor") as raw:
        asked = TailRequest(from_seq=1 << 62, wait_ms=60_000)
        envelope = raw.request(TAIL, asked.SerializeToString(), timeout_ms=90_000)
        number = raw.send(envelope.SerializeToString())
        while len(rows(stub.home, *calls)) == before:
            pass
        assert stub.stop() == "exit 0"
        got, reply = raw.receive()
    assert (got, reply.code) == (number, 0)
    assert TailReply.FromString(reply.payload).next_seq == 1 << 62
