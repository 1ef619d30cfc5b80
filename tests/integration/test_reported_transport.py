"""What was reported of transports elsewhere, before a gate.

The table "Failures that were reported elsewhere" of docs/testing.md names each.
"""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import warded
from cryptography import x509
from warded import v1

from tests.client.c_caller import Caller, calling
from tests.client.pki import Authority, Leaf
from tests.integration.test_c_client import EXPIRED, TRAINER, authority
from tests.support import strangers
from tests.support.calls import HEALTH, OBSERVE, WHO, batch, reason, results, rows
from tests.support.ports import free_port
from tests.support.raw_client import RawClient
from tests.support.stub_gate import StubGate

LONG = bool(os.environ.get("WARDED_LONG"))
TOGETHER, ROUNDS = (50, 10) if LONG else (8, 3)
STRANGERS = 10_000 if LONG else 20
ACTION = b"print(1)".hex()


def trainer(stub: StubGate) -> Path:
    return stub.home.path / "profile/trainer"


# --- nanomsg/nng#1666 ----------------------------------------------------------------


def run_one(profile: Path, barrier: threading.Barrier) -> list[str]:
    """A fresh connection once all are there, and one action."""
    barrier.wait()
    with RawClient(profile) as raw:
        return results(raw.call(OBSERVE, batch("a")))


def test_all_who_dial_at_the_same_moment_get_through(stub: StubGate) -> None:
    """Clients of Python's TLS, and as many processes of libwarded."""
    profile, barrier = trainer(stub), threading.Barrier(TOGETHER + 1)
    callers = [Caller(profile) for _ in range(TOGETHER)]
    with ThreadPoolExecutor(TOGETHER) as pool:
        for _ in range(ROUNDS):
            for caller in callers:
                assert caller.do("reopen") == "ok\n"
            futures = [pool.submit(run_one, profile, barrier) for _ in range(TOGETHER)]
            barrier.wait()
            for caller in callers:
                caller.tell(f"observe 30000 1000 {ACTION}")
            assert [f.result() for f in futures] == [["OK"]] * TOGETHER
            assert [c.line() for c in callers] == ["result 1 0\n"] * TOGETHER
    assert [caller.end() for caller in callers] == [0] * TOGETHER
    assert rows(stub.home, "--event", "tls.reject") == []
    assert stub.count().jobs == 2 * TOGETHER * ROUNDS


# --- nanomsg/nng#1588 ----------------------------------------------------------------

Door = Callable[[StubGate, Path], None]
Told = tuple[str, str, int]  # reason, phase, and the alert that the gate sent


@contextlib.contextmanager
def plain_listener() -> Iterator[int]:
    """A port where somebody speaks no TLS."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    peer, _ = listener.accept()
                    peer.sendall(b"SSH-2.0-OpenSSH_9\r\n")
                    peer.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield int(listener.getsockname()[1])
        listener.shutdown(socket.SHUT_RDWR)


def dial(profile: Path, port: int) -> None:
    (profile / "server").write_text(f"127.0.0.1:{port}\n")


def wrong_ca(_: StubGate, profile: Path) -> None:
    (profile / "ca.pem").write_bytes(Authority("another").pem)


def wrong_name(stub: StubGate, profile: Path) -> None:
    port = stub.address.rsplit(":", 1)[1]
    (profile / "server").write_text(f"127.0.0.1:{port} as gate.example:{port}\n")


def no_certificate(_: StubGate, profile: Path) -> None:
    (profile / "cert.pem").unlink()


def expired(stub: StubGate, profile: Path) -> None:
    authority(stub.home).issue(EXPIRED).write(profile)


def revoked(stub: StubGate, profile: Path) -> None:
    pair = authority(stub.home).issue(Leaf(uris=(TRAINER,), facts={}))
    pair.write(profile)
    serial = x509.load_pem_x509_certificate(pair.cert).serial_number
    (stub.home.path / "state/gate/deny").write_text(f"serial {serial:x}\n")
    stub.do("reload")
    while not rows(stub.home, "--event", "config.reload"):
        pass


DOORS: dict[str, tuple[Door, Told]] = {
    "closed port": (
        lambda _, profile: dial(profile, free_port()),
        ("UNREACHABLE", "connect", 0),
    ),
    "wrong CA": (wrong_ca, ("HOST_NOT_ADOPTED", "tls", 0)),
    "wrong name": (wrong_name, ("HOST_NOT_ADOPTED", "host", 0)),
    "no certificate": (no_certificate, ("", "profile", 0)),
    "expired": (expired, ("TLS_REFUSED", "tls", 45)),
    "revoked": (revoked, ("TLS_REFUSED", "tls", 46)),
}
ALERTS = {"certificate_expired": 45, "certificate_unknown": 46}


def python_told(profile: Path) -> Told:
    try:
        with warded.connect(profile) as channel:
            v1.HealthStub(channel).Check(v1.HealthCheckRequest(), timeout=10)
    except warded.RpcError as error:
        alert = ALERTS[error.alert] if isinstance(error, warded.TlsRefused) else 0
        return error.reason.name if error.reason else "", error.phase.value, alert
    return "ok", "", 0


def c_told(profile: Path) -> Told:
    with calling(profile) as caller:
        answer = caller.check()
    local = answer.phase == "profile"  # which Python tells without a reason
    return "" if local else answer.reason, answer.phase, answer.alert


@pytest.mark.parametrize("door", DOORS)
def test_each_closed_door_is_told_at_once_by_its_cause(
    stub: StubGate, door: str
) -> None:
    spoil, told = DOORS[door]
    spoil(stub, trainer(stub))
    for stub_told in (python_told, c_told):
        began = time.monotonic()
        assert stub_told(trainer(stub)) == told
        assert time.monotonic() - began < 30, "promised: 3"


def test_who_speaks_no_tls_is_told_at_once(stub: StubGate) -> None:
    with plain_listener() as port:
        dial(trainer(stub), port)
        assert [told(trainer(stub))[:2] for told in (python_told, c_told)] == [
            ("UNREACHABLE", "tls")
        ] * 2


# --- pgbouncer/pgbouncer#796 ---------------------------------------------------------

TLS_10 = bytes.fromhex(
    "16030100350100003103010000000000000000000000000000000000000000000000000000000000"
    "0000000000000a0005000400090064006200030006001301"
)


def at(stub: StubGate) -> tuple[str, int]:
    host, port = stub.address.rsplit(":", 1)
    return host, int(port)


def say(stub: StubGate, words: bytes, *, wait: bool) -> None:
    """Plain bytes; then go, or wait for the end."""
    with socket.create_connection(at(stub), 30) as plain, contextlib.suppress(OSError):
        plain.sendall(words)
        while wait and plain.recv(4096):
            pass


def stranger(stub: StubGate, folder: Path) -> None:
    """A whole handshake with a certificate of another CA."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    with (
        socket.create_connection(at(stub), 30) as plain,
        contextlib.suppress(OSError),
        context.wrap_socket(plain) as tls,
    ):
        tls.recv(8)


@pytest.mark.limit(3600 if LONG else 180)
def test_failed_handshakes_and_wrong_tokens_cost_nothing_that_stays(
    stub: StubGate, tmp_path: Path
) -> None:
    """Descriptors and memory; a sanitizer looks for what was lost at the end."""
    Authority("another").issue(Leaf(uris=(TRAINER,), facts={})).write(tmp_path)
    guess = f"wdt1_{'0' * 59}"
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(40)

    def wrong_token() -> None:
        with RawClient(trainer(stub), token=guess) as raw:
            assert reason(raw.call(WHO)).startswith("TOKEN_")

    turns: list[Callable[[], None]] = [
        lambda: say(stub, b"\xff" * 100, wait=True),
        lambda: say(stub, TLS_10, wait=True),
        lambda: say(stub, hello, wait=False),
        lambda: stranger(stub, tmp_path),
        wrong_token,
    ]
    usage: list[strangers.Usage] = []
    with RawClient(trainer(stub)) as good:
        for n in range(STRANGERS):
            for turn in turns:
                turn()
            assert good.call(HEALTH).code == 0
            if n in (STRANGERS // 2, STRANGERS - 1):
                usage.append(strangers.Usage(stub.pid))
                usage[-1].look()
        half, whole = usage
        assert whole.descriptors <= half.descriptors + 8
        grown = whole.bytes - half.bytes
        print(f"{grown >> 10} KiB more for {STRANGERS // 2} of each")
        assert grown < 64 << 20
    assert len(rows(stub.home, "--event", "tls.reject")) < 5 * STRANGERS + 100


# --- scylladb/seastar#335 ------------------------------------------------------------


def test_who_says_half_and_hangs_up_half_keeps_nobody_out(stub: StubGate) -> None:
    """Half-closed connections, some mute, some after half a hello."""
    with contextlib.ExitStack() as stack, RawClient(trainer(stub)) as old:
        for n in range(100):
            plain = stack.enter_context(socket.create_connection(at(stub), 30))
            if n % 2:
                plain.sendall(struct.pack(">BHH", 22, 0x0301, 512) + b"\1")
            plain.shutdown(socket.SHUT_WR)
        for _ in range(20):
            with RawClient(trainer(stub)) as new:
                assert new.call(HEALTH).code == 0
            assert old.call(HEALTH).code == 0
