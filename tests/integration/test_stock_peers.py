"""Peers that are not ours: nngcat, pynng, a plain socket; each with its own TLS.

pynng brings NNG 1.11 and an mbedTLS of its own, nngcat is Debian's with Debian's
mbedTLS, the plain socket is OpenSSL's. All speak TLS 1.3. docs/protocol.md is all that
the plain socket's few lines were written from.
"""

from __future__ import annotations

import shutil
import socket
import ssl
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pynng
import pytest
from warded.v1 import (
    GetObservationReply,
    HealthCheckReply,
    Reply,
    Request,
    WhoAmIReply,
)

from tests.conftest import NewHome
from tests.support import calls
from tests.support.calls import HEALTH, OBSERVE, WHO, batch, reason, results, rows
from tests.support.gate import Gate
from tests.support.raw_client import call_id
from tests.support.stub_gate import StubGate

PATIENCE_S = 30
RESEND_MS = 100  # NNG looks at its timers once a second

Ask = Callable[[Path, bytes], bytes]  # a profile and an envelope; the reply's envelope


def address(profile: Path) -> str:
    """HOST:PORT of the gate."""
    return (profile / "server").read_text().strip()


def envelope(
    profile: Path, method: str, payload: bytes = b"", token: str = ""
) -> bytes:
    """A request, as anybody's protobuf would write it."""
    request = Request(
        version=1,
        call_id=call_id(),
        method=method,
        token=token or (profile / "token").read_text().strip(),
        payload=payload,
    )
    return bytes(request.SerializeToString())


def read(stream: ssl.SSLSocket, size: int) -> bytes:
    """Exactly so many bytes."""
    data = b""
    while len(data) < size:
        data += stream.recv(size - len(data)) or pytest.fail("closed by the gate")
    return data


def ask_by_socket(
    profile: Path, sent: bytes, newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3
) -> bytes:
    """SP over TLS with nothing but Python's library."""
    context = ssl.create_default_context(cafile=str(profile / "ca.pem"))
    context.maximum_version = newest
    context.load_cert_chain(profile / "cert.pem", profile / "key.pem")
    host, port = address(profile).rsplit(":", 1)
    with (
        socket.create_connection((host, int(port)), PATIENCE_S) as plain,
        context.wrap_socket(plain, server_hostname=host) as stream,
    ):
        stream.sendall(b"\0SP\0\0\x30\0\0")
        assert read(stream, 8) == b"\0SP\0\0\x31\0\0"
        stream.sendall(struct.pack(">QI", 4 + len(sent), 0x80000001) + sent)
        size, number = struct.unpack(">QI", read(stream, 12))
        assert number == 0x80000001
        return read(stream, size - 4)


def req0(
    profile: Path, *, name: str = "localhost", own: bool = True, resend_ms: int = -1
) -> pynng.Req0:
    """pynng's socket with the profile's certificate; it dials no gate yet.

    Its mbedTLS refuses every gate unless it is told the name to expect.
    """
    req = pynng.Req0(
        recv_timeout=PATIENCE_S * 1000,
        send_timeout=PATIENCE_S * 1000,
        resend_time=resend_ms,
    )
    req.tls_config = pynng.TLSConfig(
        pynng.TLSConfig.MODE_CLIENT,
        server_name=name,
        ca_string=(profile / "ca.pem").read_text(),
        own_cert_string=(profile / "cert.pem").read_text() if own else None,
        own_key_string=(profile / "key.pem").read_text() if own else None,
        auth_mode=pynng.TLSConfig.AUTH_MODE_REQUIRED,
    )
    return req


def ask_by_pynng(profile: Path, sent: bytes) -> bytes:
    """As pynng's own examples do it."""
    with req0(profile) as req:
        req.dial(f"tls+tcp://{address(profile)}", block=True)
        req.send(sent)
        return bytes(req.recv())


def ask_by_nngcat(profile: Path, sent: bytes) -> bytes:
    """`nngcat --req`, the envelope from a file, the reply from its output."""
    nngcat = shutil.which("nngcat") or pytest.fail("nngcat is not installed")
    with tempfile.NamedTemporaryFile() as file:
        file.write(sent)
        file.flush()
        command = [nngcat, "--req", "--dial", f"tls+tcp://{address(profile)}"]
        for option, pem in (("cacert", "ca"), ("cert", "cert"), ("key", "key")):
            command += [f"--{option}", str(profile / f"{pem}.pem")]
        command += ["--file", file.name, "--raw", "--recv-timeout", str(PATIENCE_S)]
        done = subprocess.run(
            command, capture_output=True, timeout=2 * PATIENCE_S, check=False
        )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


PEERS: dict[str, Ask] = {"socket": ask_by_socket, "pynng": ask_by_pynng}
PEERS["nngcat"] = ask_by_nngcat


@pytest.fixture(params=PEERS)
def ask(request: pytest.FixtureRequest) -> Ask:
    """Each stock peer in turn."""
    return PEERS[request.param]


def test_claim_06_stock_peer_is_told_the_gates_health(ask: Ask, trainer: Path) -> None:
    sent = envelope(trainer, HEALTH)
    reply = Reply.FromString(ask(trainer, sent))
    assert reason(reply) == "REASON_UNSPECIFIED"
    assert reply.call_id == Request.FromString(sent).call_id
    health = HealthCheckReply.FromString(reply.payload)
    assert health.status == HealthCheckReply.SERVING


def test_claim_06_stock_peer_runs_an_action_on_record(
    ask: Ask, gate: Gate, trainer: Path
) -> None:
    before = len(rows(gate.home, "--event", "call.*"))
    sent = envelope(trainer, OBSERVE, batch("print(6 * 7)", "print(undefined)"))
    reply = Reply.FromString(ask(trainer, sent))
    assert results(reply) == ["OK", "TOOL_ERROR"]
    good, bad = GetObservationReply.FromString(reply.payload).results
    assert good.content[0].text == "42\n"
    assert "NameError" in "".join(c.text for c in bad.content)
    assert len(rows(gate.home, "--event", "call.*")) == before + 4


REFUSED = {  # (method, payload, token)
    "TOKEN_MALFORMED": (OBSERVE, batch("print(1)"), "wdt1_" + "0" * 59),
    "MALFORMED": (OBSERVE, b"\xff", ""),
    "METHOD_UNKNOWN": ("/warded.v1.Token/Issue", b"", ""),
}


@pytest.mark.parametrize("why", REFUSED)
def test_claim_06_stock_peer_is_told_why_it_is_refused(
    ask: Ask, trainer: Path, why: str
) -> None:
    reply = Reply.FromString(ask(trainer, envelope(trainer, *REFUSED[why])))
    assert reason(reply) == why, reply.message
    assert reply.payload == b""


def test_claim_06_stock_peers_garbage_is_answered(ask: Ask, trainer: Path) -> None:
    reply = Reply.FromString(ask(trainer, b"\xff" * 40))
    assert reason(reply) == "MALFORMED"
    assert reply.call_id == b""


def test_claim_06_pynng_asks_from_many_contexts_over_one_connection(
    trainer: Path,
) -> None:
    with req0(trainer) as req, ThreadPoolExecutor(16) as pool:
        req.dial(f"tls+tcp://{address(trainer)}", block=True)

        def one(number: int) -> str:
            with req.new_context() as context:
                context.send(envelope(trainer, OBSERVE, batch(f"print({number})")))
                reply = Reply.FromString(context.recv())
            (result,) = GetObservationReply.FromString(reply.payload).results
            return str(result.content[0].text)

        numbers = range(32)
        assert list(pool.map(one, numbers)) == [f"{n}\n" for n in numbers]


def test_claim_06_pynng_refuses_a_gate_of_another_name(
    gate: Gate, trainer: Path
) -> None:
    with req0(trainer, name="gate.example") as req, pytest.raises(pynng.CryptoError):
        req.dial(f"tls+tcp://{gate.address}", block=True)


def test_claim_06_pynng_without_a_certificate_is_not_let_in(
    gate: Gate, trainer: Path
) -> None:
    refusal = pytest.raises(pynng.exceptions.NNGException)
    with req0(trainer, own=False) as req, refusal:
        req.dial(f"tls+tcp://{gate.address}", block=True)
    wait_for_reject(gate, "no_certificate")


def wait_for_reject(gate: Gate, cause: str) -> None:
    """Wait until the refused handshake is on record: such rows are coalesced first."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if any(cause in row for row in rows(gate.home, "--event", "tls.reject")):
            return
    pytest.fail(f"no tls.reject for {cause}")


@pytest.fixture
def stub(new_home: NewHome) -> Iterator[StubGate]:
    """A gate whose executor counts its jobs, and holds those that are told to."""
    home = new_home()
    home.profile("trainer", "observe:python_code")
    with StubGate(home) as running:
        yield running


def test_claim_06_a_stock_peers_own_resend_does_not_run_the_action_twice(
    stub: StubGate,
) -> None:
    """The copy waits for the first one's answer, and either is the peer's."""
    trainer = stub.home.path / "profile/trainer"
    with req0(trainer, resend_ms=RESEND_MS) as req:
        req.dial(f"tls+tcp://{stub.address}", block=True)
        req.send(envelope(trainer, OBSERVE, batch("hold")))
        stub.wait_for(running=1)
        calls.wait_for_rows(stub.home, "call.repeat")
        stub.do("finish")
        assert results(Reply.FromString(req.recv())) == ["OK"]
        req.send(envelope(trainer, HEALTH))
        assert Reply.FromString(req.recv()).code == 0, "its connection goes on"
    assert stub.count().jobs == 1
    assert len(rows(stub.home, "--event", "call.begin")) == 1
    assert len(rows(stub.home, "--event", "call.end")) == 1
    assert rows(stub.home, "--event", "call.refused") == []


def test_claim_06_the_same_request_sent_twice_by_a_plain_socket_runs_once(
    stub: StubGate,
) -> None:
    trainer = stub.home.path / "profile/trainer"
    sent = envelope(trainer, OBSERVE, batch("hold"))
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(ask_by_socket, trainer, sent)
        stub.wait_for(running=1)
        copies = [pool.submit(ask_by_socket, trainer, sent) for _ in range(3)]
        calls.wait_for_rows(stub.home, "call.repeat")
        stub.do("finish")
        for told in (first, *copies):
            assert results(Reply.FromString(told.result(PATIENCE_S))) == ["OK"]
    late = Reply.FromString(ask_by_socket(trainer, sent))
    assert results(late) == ["OK"]
    assert stub.count().jobs == 1


def test_claim_06_a_tls_1_2_peer_is_let_in_only_where_the_settings_say_so(
    new_home: NewHome,
) -> None:
    home = new_home()
    trainer = home.profile("trainer", "observe:python_code")
    with StubGate(home), pytest.raises(ssl.SSLError):
        who_by_tls12(trainer)
    text = home.config.read_text()
    home.config.write_text(text.replace("listen:\n", "listen:\n  tls12: true\n", 1))
    with StubGate(home):
        assert who_by_tls12(trainer).endswith("/client/trainer")


def who_by_tls12(profile: Path) -> str:
    """Whom the gate takes the caller for."""
    sent = envelope(profile, WHO)
    reply = Reply.FromString(ask_by_socket(profile, sent, ssl.TLSVersion.TLSv1_2))
    return str(WhoAmIReply.FromString(reply.payload).principal)
