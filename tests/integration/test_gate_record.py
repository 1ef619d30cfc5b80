"""Nothing runs off the record: order of syncs, and what happens when there is none."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sqlite3
import ssl
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from warded.v1 import Reply

from tests.support.calls import OBSERVE, WHO, batch, reason, results, rows
from tests.support.raw_client import RawClient
from tests.support.stub_gate import StubGate

KILLS = 40
PATIENCE_S = 20.0


def test_claim_08_one_pair_per_item_of_a_batch(
    stub: StubGate, caller: RawClient
) -> None:
    reply = caller.call(OBSERVE, batch(*["a"] * 20, "fail"))
    assert len(results(reply)) == 21
    found = [json.loads(row) for row in rows(stub.home, "--method", OBSERVE)]
    assert [(row["item"], row["event"]) for row in found] == [
        (i, event) for event in ("call.begin", "call.end") for i in range(21)
    ]
    outcomes = [row.get("outcome") or "" for row in found]
    assert outcomes == [""] * 21 + ["ok"] * 20 + ["failed"]
    assert reply.head.seq == len(rows(stub.home))


def test_claim_08_sync_before_the_job_and_before_the_reply(
    stub: StubGate, caller: RawClient
) -> None:
    assert caller.call(WHO).code == 0
    for _ in range(20):
        stub.do("log")
        assert results(caller.call(OBSERVE, batch("a"))) == ["OK"]
        events = stub.do("log")
        begin, end = events.split("J")
        assert begin.startswith("W") and begin.endswith("S"), events
        assert end.startswith("W") and end.endswith("SR"), events


def test_claim_09_no_record_no_run(stub: StubGate, caller: RawClient) -> None:
    stub.do("unwritable 1000")
    reply = caller.call(OBSERVE, batch("a"))
    assert reason(reply) == "AUDIT_UNWRITABLE"
    assert stub.count().jobs == 0
    stub.do("unwritable 0")


def take_number(stub: StubGate, seq: int) -> None:
    """Somebody else has written a row of this number: the gate's own is not taken."""
    with contextlib.closing(sqlite3.connect(stub.home.store / "store.db")) as db, db:
        names = [column[1] for column in db.execute("PRAGMA table_info(audit)")]
        values = ", ".join("?" if name == "seq" else name for name in names)
        db.execute(f"INSERT INTO audit SELECT {values} FROM audit WHERE seq = 1", [seq])


@pytest.mark.parametrize(
    ("ahead", "want", "jobs"),
    [(1, "AUDIT_UNWRITABLE", 0), (2, "OUTCOME_UNRECORDED", 1)],
    ids=["begin", "end"],
)
def test_claim_09_a_row_that_the_store_does_not_take_is_no_record(
    stub: StubGate, caller: RawClient, ahead: int, want: str, jobs: int
) -> None:
    take_number(stub, caller.call(WHO).head.seq + ahead)
    reply = caller.call(OBSERVE, batch("a"))
    assert reason(reply) == want
    assert stub.count().jobs == jobs
    assert not reply.payload


def test_claim_09_an_outcome_that_cannot_be_written_is_no_success(
    stub: StubGate, caller: RawClient
) -> None:
    number = caller.send(caller.request(OBSERVE, batch("hold")).SerializeToString())
    stub.wait_for(running=1)
    stub.do("unwritable 1000")
    stub.do("finish")
    got, reply = caller.receive()
    assert got == number
    assert reason(reply) == "OUTCOME_UNRECORDED"
    assert reply.payload == b""


def test_claim_09_a_failed_assertion_ends_the_process_and_the_next_start_records_it(
    stub: StubGate,
) -> None:
    stub.do("crash")
    with RawClient(stub.home.path / "profile/trainer") as raw:
        raw.send(raw.request(OBSERVE, batch("a")).SerializeToString())
        assert stub.wait_end() == "signal 6"
        with pytest.raises(ConnectionError):
            raw.receive()
    assert stub.count().jobs == 0
    stub.close()
    stub.start()
    assert len(rows(stub.home, "--event", "gate.recovered")) == 1
    ends = rows(stub.home, "--event", "call.end", "--method", OBSERVE)
    assert len(ends) == 1
    assert "OUTCOME_UNKNOWN" in ends[0]


def test_claim_09_a_gate_that_ends_with_nothing_under_way_is_on_record_too(
    stub: StubGate,
) -> None:
    assert rows(stub.home, "--event", "gate.recovered") == []
    os.kill(stub.pid, signal.SIGABRT)
    assert stub.wait_end() == "signal 6"
    stub.close()
    stub.start()
    found = rows(stub.home, "--event", "gate.recovered")
    assert [json.loads(row)["detail"] for row in found] == ['{"open":0}']
    assert stub.stop() == "exit 0"
    stub.close()
    stub.start()
    assert len(rows(stub.home, "--event", "gate.recovered")) == 1


def test_a_refused_handshake_is_on_record_coalesced(stub: StubGate) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(stub.home.path / "profile/trainer/ca.pem")
    host, port = stub.address.rsplit(":", 1)
    for _ in range(5):
        plain = socket.create_connection((host, int(port)), PATIENCE_S)
        with pytest.raises(OSError, match=r".*"), context.wrap_socket(plain) as tls:
            tls.recv(1)
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        seen = [json.loads(row) for row in rows(stub.home, "--event", "tls.reject")]
        if sum(json.loads(row["detail"])["count"] for row in seen) == 5:
            break
    assert {row["reason"] for row in seen} == {"no_certificate"}
    assert len(seen) <= 2  # five within a second or two
    assert {row["peer_addr"] for row in seen} == {"127.0.0.1"}


def acknowledged(
    raw: RawClient, asked: int, some: threading.Event
) -> list[tuple[str, Reply]]:
    """Send many calls; those answered before the connection ends. `some`: there are."""
    for _ in range(asked):
        raw.send(raw.request(OBSERVE, batch("a")).SerializeToString())
    got: list[tuple[str, Reply]] = []
    try:
        while len(got) < asked:
            _, reply = raw.receive()
            got.append((str(uuid.UUID(bytes=reply.call_id)), reply))
            some.set()
    except OSError:
        pass
    return got


def test_claim_08_kills_under_load_lose_no_acknowledged_row(stub: StubGate) -> None:
    heads = stub.home.path / "heads"
    known: set[str] = set()
    for _ in range(KILLS):
        folder = stub.home.path / "profile/trainer"
        with RawClient(folder) as raw, ThreadPoolExecutor(1) as pool:
            some = threading.Event()
            answers = pool.submit(acknowledged, raw, 200, some)
            while stub.count().jobs < 20:
                pass
            assert some.wait(PATIENCE_S)
            stub.do("kill")
            assert stub.wait_end() == "signal 9"
            got = answers.result()
        known |= {call for call, reply in got if reply.code == 0}
        with heads.open("a") as file:
            for _, reply in got:
                file.write(f"{reply.head.seq} {reply.head.hash.hex()}\n")
        stub.close()
        stub.start()
    assert known
    written = rows(stub.home, "--event", "call.*")
    begun = {json.loads(r)["call_id"] for r in written if '"call.begin"' in r}
    ended = [json.loads(r)["call_id"] for r in written if '"call.end"' in r]
    assert known <= set(ended)
    assert begun == set(ended)
    assert len(ended) == len(set(ended))
    stub.home.tokctl("audit", "verify", "--witness", str(heads))
