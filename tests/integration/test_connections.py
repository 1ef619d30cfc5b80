"""Health.Connections: who is connected to a gate now."""

from __future__ import annotations

import contextlib
import json
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from warded.v1 import Connection, ConnectionsReply, ConnectionsRequest, Reply

from tests.conftest import TRAINER
from tests.support.calls import HEALTH, OBSERVE, batch, reason, rows
from tests.support.gate import Home
from tests.support.raw_client import RawClient
from tests.support.stub_gate import StubGate

CONNECTIONS = "/warded.v1.Health/Connections"
PATIENCE_S = 30
MOST_ROWS = 1000
MOST_PEER = 256


@pytest.fixture(scope="module")
def stub(module_home: Home) -> Iterator[StubGate]:
    module_home.profile("operator", "health:connections")
    module_home.profile("trainer", TRAINER)
    module_home.profile("auditor", "audit:read", "health:watch")
    with StubGate(module_home) as gate:
        yield gate


@pytest.fixture
def operator(stub: StubGate) -> Iterator[RawClient]:
    with RawClient(profile(stub, "operator")) as raw:
        wait_for(raw, "*", lambda found: len(found) == 1)  # earlier tests' are gone
        yield raw


def profile(stub: StubGate, name: str) -> Path:
    return stub.home.path / "profile" / name


def ask(raw: RawClient, **fields: object) -> Reply:
    request = ConnectionsRequest(**fields)
    return raw.call(CONNECTIONS, request.SerializeToString())


def page(raw: RawClient, **fields: object) -> ConnectionsReply:
    reply = ask(raw, **fields)
    assert reply.code == 0, reply.message
    return ConnectionsReply.FromString(reply.payload)


def wait_for(
    raw: RawClient, peer: str, told: Callable[[list[Connection]], bool]
) -> list[Connection]:
    """Look until it is as it should be."""
    end = time.monotonic() + PATIENCE_S
    while not told(found := list(page(raw, peer=peer).connections)):
        assert time.monotonic() < end, found
    return found


@contextlib.contextmanager
def trainers(stub: StubGate, n: int) -> Iterator[list[RawClient]]:
    """So many connections, each of which the gate has let in: it has answered."""
    with contextlib.ExitStack() as stack:
        folder = profile(stub, "trainer")
        made = [stack.enter_context(RawClient(folder)) for _ in range(n)]
        for client in made:
            assert client.call(HEALTH).code == 0
        yield made


# --- what is told -------------------------------------------------------------------


def test_claim_05_a_connection_is_told_with_its_certificate(
    stub: StubGate, operator: RawClient
) -> None:
    before_ms = time.time_ns() // 1_000_000
    with trainers(stub, 1) as (client,):
        one = page(operator, peer="*/client/trainer").connections[0]
        pem = (profile(stub, "trainer") / "cert.pem").read_bytes()
        certificate = x509.load_pem_x509_certificate(pem)
        assert one.certificate_sha256 == certificate.fingerprint(SHA256()).hex()
        ends_s = certificate.not_valid_after_utc.timestamp()
        assert one.certificate_expires_ms // 1000 == ends_s
        assert one.address == f"127.0.0.1:{client.port}"
        assert before_ms <= one.since_ms <= time.time_ns() // 1_000_000
        assert (one.calls, one.own) == (0, False)
    own = wait_for(operator, "*", lambda found: len(found) == 1)[0]
    assert (own.own, own.calls) == (True, 1)  # the one that asks
    assert own.peer.endswith("/client/operator")


def test_claim_05_calls_of_a_connection_are_counted_while_they_wait(
    stub: StubGate, operator: RawClient
) -> None:
    with trainers(stub, 2) as (busy, idle):
        for _ in range(3):
            busy.send(busy.request(OBSERVE, batch("hold")).SerializeToString())
        stub.wait_for(running=3)
        told = {c.address: c for c in page(operator).connections}
        assert told[f"127.0.0.1:{busy.port}"].calls == 3
        assert told[f"127.0.0.1:{busy.port}"].request_bytes > 0
        assert told[f"127.0.0.1:{idle.port}"].calls == 0
        assert told[f"127.0.0.1:{idle.port}"].request_bytes == 0
        stub.do("finish")
        for _ in range(3):
            busy.receive()
        wait_for(
            operator,
            f"*:{busy.port}",
            lambda found: (found[0].calls, found[0].request_bytes) == (0, 0),
        )


def test_claim_05_bytes_are_told_from_when_a_request_announces_them(
    stub: StubGate, operator: RawClient
) -> None:
    size = 100_000
    with trainers(stub, 1) as (client,):
        client.send_bytes(struct.pack(">Q", size) + bytes(10))
        found = wait_for(operator, f"*:{client.port}", lambda f: f[0].request_bytes > 0)
        assert found[0].request_bytes == size
        assert found[0].calls == 0
    wait_for(operator, "*", lambda found: len(found) == 1)


def test_claim_05_replies_that_are_not_read_are_told(
    stub: StubGate, operator: RawClient
) -> None:
    with RawClient(profile(stub, "trainer"), window=4096) as client:
        for _ in range(8):
            request = client.request(OBSERVE, batch("big 1000000"))
            client.send(request.SerializeToString())
        wait_for(operator, f"*:{client.port}", lambda f: f[0].reply_bytes > 1_000_000)
    wait_for(operator, "*", lambda found: len(found) == 1)


# --- pages --------------------------------------------------------------------------


def test_claim_05_pages_tell_each_that_stays_once(
    stub: StubGate, operator: RawClient
) -> None:
    with trainers(stub, 6) as clients:
        first = page(operator, limit=3)
        assert first.total == 7
        assert first.next == first.connections[-1].number
        gone = clients[1].port  # told already; and one that was not
        clients[1].close()
        clients[4].close()
        wait_for(operator, "*/trainer", lambda found: len(found) == 4)
        with RawClient(profile(stub, "trainer")) as late:
            rest = page(operator, limit=1000, after=first.next)
            told = [*first.connections, *rest.connections]
            numbers = [c.number for c in told]
            assert numbers == sorted(set(numbers))
            ports = [c.address.split(":")[1] for c in told]
            stay = [c.port for i, c in enumerate(clients) if i not in (1, 4)]
            assert ports == [str(p) for p in (operator.port, clients[0].port, gone,
                                              *stay[1:], late.port)]  # fmt: skip
            assert rest.next == 0


@pytest.mark.parametrize(("limit", "pages"), [(3, 2), (4, 1), (5, 1)])
def test_claim_05_last_page_says_so(
    stub: StubGate, operator: RawClient, limit: int, pages: int
) -> None:
    with trainers(stub, 3):
        got = page(operator, limit=limit)
        assert len(got.connections) == min(limit, 4)
        assert (got.next == 0) == (pages == 1)
        if got.next:
            rest = page(operator, limit=limit, after=got.next)
            assert (len(rest.connections), rest.next) == (1, 0)
            end = page(operator, after=rest.connections[0].number)
            assert (len(end.connections), end.next) == (0, 0)


def test_claim_05_a_page_has_a_hundred_unless_more_are_asked_for(
    stub: StubGate, operator: RawClient
) -> None:
    with trainers(stub, 100) as clients:  # and the operator's own
        for n in (101, 100, 99):
            got = page(operator)
            while got.total != n:  # the one that was closed last is going
                got = page(operator)
            assert len(got.connections) == min(n, 100)
            assert (got.next != 0) == (n > 100)
            clients.pop().close()


# --- filters ------------------------------------------------------------------------


def test_claim_05_filters_hold_together(stub: StubGate, operator: RawClient) -> None:
    with trainers(stub, 2) as clients:
        everyone = page(operator).connections
        mine = [c for c in everyone if c.peer.endswith("/trainer")]
        ends_ms = mine[0].certificate_expires_ms

        def found(**fields: object) -> list[int]:
            return [c.number for c in page(operator, **fields).connections]

        numbers = [c.number for c in mine]
        assert found(peer="*/client/trainer") == numbers
        assert found(peer=mine[0].certificate_sha256) == numbers
        assert found(peer=f"127.0.0.1:{clients[1].port}") == [numbers[1]]
        assert found(peer="trainer") == []
        assert found(peer="*TRAINER") == []
        assert found(peer="*/client/trainer", expires_before_ms=ends_ms) == []
        assert found(peer="*/client/trainer", expires_before_ms=ends_ms + 1) == numbers
        assert found(peer="*/client/nobody", expires_before_ms=ends_ms + 1) == []


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"limit": MOST_ROWS + 1}, "limit"),
        ({"limit": 2**32 - 1}, "limit"),
        ({"peer": "*" * (MOST_PEER + 1)}, "peer"),
        ({"expires_before_ms": 2**63}, "expires_before_ms"),
        ({"expires_before_ms": 2**64 - 1}, "expires_before_ms"),
    ],
)
def test_claim_05_what_is_beyond_its_bound_is_refused(
    operator: RawClient, fields: dict[str, object], says: str
) -> None:
    reply = ask(operator, **fields)
    assert reason(reply) == "FIELD_INVALID"
    assert says in reply.message


@pytest.mark.parametrize(
    "fields",
    [
        {"limit": MOST_ROWS - 1},
        {"limit": MOST_ROWS},
        {"peer": "*" * (MOST_PEER - 1)},
        {"peer": "*a" * (MOST_PEER // 2)},  # no glob takes the gate's time
        {"expires_before_ms": 2**63 - 1},
        {"after": 2**64 - 1},
    ],
)
def test_claim_05_what_is_at_its_bound_is_taken(
    operator: RawClient, fields: dict[str, object]
) -> None:
    assert ask(operator, **fields).code == 0


# --- who may ------------------------------------------------------------------------


def test_claim_05_only_who_may_see_connections_does(stub: StubGate) -> None:
    for name in ("trainer", "auditor"):
        with RawClient(profile(stub, name)) as raw:
            reply = ask(raw)
            assert reason(reply) in ("SCOPE_MISSING", "METHOD_UNKNOWN")
            assert reply.payload == b""


def test_claim_05_asking_who_is_connected_is_on_record(
    stub: StubGate, operator: RawClient
) -> None:
    before = len(rows(stub.home, "--method", CONNECTIONS))
    page(operator)
    told = [json.loads(row) for row in rows(stub.home, "--method", CONNECTIONS)]
    fresh = told[before:]
    assert [row["event"] for row in fresh] == ["call.begin", "call.end"]
    assert all(row["principal"].endswith("/client/operator") for row in fresh)
