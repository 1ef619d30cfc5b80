"""Audit.Export: pieces that are one file, in three formats, each piece on record."""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import json
from collections.abc import Iterator

import pytest
from warded.v1 import AuditFilter, ExportReply, ExportRequest

from tests.conftest import NewHome
from tests.support.calls import WHO, reason, rows
from tests.support.raw_client import RawClient
from tests.support.stub_gate import StubGate

EXPORT = "/warded.v1.Audit/Export"
CALLS = 300


@pytest.fixture
def stub(new_home: NewHome) -> Iterator[StubGate]:
    home = new_home()
    home.profile("auditor", "audit:read")
    with StubGate(home) as gate:
        with RawClient(home.path / "profile/auditor") as raw:
            for _ in range(CALLS):
                raw.call(WHO)
        yield gate


@pytest.fixture
def auditor(stub: StubGate) -> Iterator[RawClient]:
    with RawClient(stub.home.path / "profile/auditor") as raw:
        yield raw


def pieces(raw: RawClient, request: ExportRequest) -> list[ExportReply]:
    got: list[ExportReply] = []
    while True:
        reply = raw.call(EXPORT, request.SerializeToString())
        assert reply.code == 0, reply.message
        piece = ExportReply.FromString(reply.payload)
        assert piece.sha256 == hashlib.sha256(piece.data).digest()
        got.append(piece)
        if piece.next_seq == 0:
            return got
        request.from_seq = piece.next_seq
        request.to_seq = piece.to_seq
        request.goes_on = True


def test_claim_07_pieces_of_an_export_are_the_trail(
    stub: StubGate, auditor: RawClient
) -> None:
    got = pieces(auditor, ExportRequest(max_bytes=64 << 10))
    assert len(got) > 3
    assert all(piece.data.endswith(b"\n") for piece in got)
    exported = [json.loads(line) for piece in got for line in piece.data.splitlines()]
    assert [row["seq"] for row in exported] == list(range(1, got[0].to_seq + 1))
    assert sum(piece.rows for piece in got) == len(exported)
    for before, after in itertools.pairwise(exported):
        assert after["prev_hash"] == before["hash"]
    told = [json.loads(row) for row in rows(stub.home, "--event", "audit.export")]
    digests = [json.loads(row["detail"])["sha256"] for row in told]
    assert digests == [piece.sha256.hex() for piece in got]


def test_claim_07_csv_has_one_header_and_every_column(auditor: RawClient) -> None:
    asked = ExportRequest(format=ExportRequest.CSV, max_bytes=64 << 10)
    got = pieces(auditor, asked)
    text = b"".join(piece.data for piece in got).decode()
    table = list(csv.DictReader(io.StringIO(text, newline="")))
    assert len(got) > 1
    assert [int(row["seq"]) for row in table] == list(range(1, got[0].to_seq + 1))
    assert {len(row) for row in table} == {31}
    assert all(row["hash"] for row in table)


def test_claim_07_a_filter_and_ocsf(auditor: RawClient) -> None:
    asked = AuditFilter(event="call.end", method=WHO)
    got = pieces(auditor, ExportRequest(format=ExportRequest.OCSF, filter=asked))
    events = [json.loads(line) for piece in got for line in piece.data.splitlines()]
    assert len(events) == CALLS
    assert {event["type_uid"] for event in events} == {600399}
    assert {event["api"]["operation"] for event in events} == {WHO}
    assert {event["unmapped"]["event"] for event in events} == {"call.end"}


def test_claim_07_a_range_ends_where_it_was_told_to(auditor: RawClient) -> None:
    (piece,) = pieces(auditor, ExportRequest(from_seq=5, to_seq=9))
    lines = [json.loads(line) for line in piece.data.splitlines()]
    assert [row["seq"] for row in lines] == [5, 6, 7, 8, 9]
    nothing = AuditFilter(event="no.such")
    (piece,) = pieces(auditor, ExportRequest(filter=nothing))
    assert (piece.data, piece.rows) == (b"", 0)


@pytest.mark.parametrize(
    "request_",
    [
        ExportRequest(max_bytes=(64 << 10) - 1),
        ExportRequest(max_bytes=(8 << 20) + 1),
        ExportRequest(from_seq=1 << 63),
        ExportRequest(filter=AuditFilter(codes=[17])),
        ExportRequest(filter=AuditFilter(event="x" * 129)),
    ],
)
def test_claim_07_what_can_not_be_exported_is_refused(
    auditor: RawClient, request_: ExportRequest
) -> None:
    assert reason(auditor.call(EXPORT, request_.SerializeToString())) == "FIELD_INVALID"
