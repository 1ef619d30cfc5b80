"""The TLS engine as OpenSSL sees it: which alert arrives for which certificate."""

from __future__ import annotations

import os
import socket
import ssl
import struct
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.support import leaks

SERVER = (
    Path(os.environ.get("WARDED_BUILD", "build/asan")).absolute() / "bin/tls_server"
)
URI = "spiffe://test.example/ns/default/owner/ann/client/trainer"
GATE = "spiffe://test.example/ns/default/owner/ann/gate/g1"
GREETING = b"\0SP\0\0\x30\0\0"
BODY = struct.pack(">I", 0x80000001) + b"hello"
REQUEST = struct.pack(">Q", len(BODY)) + BODY
SERVER_AUTH = ExtendedKeyUsageOID.SERVER_AUTH
CLIENT_AUTH = ExtendedKeyUsageOID.CLIENT_AUTH
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key."""

    cert: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def write(self, folder: Path, name: str = "") -> tuple[Path, Path]:
        """Both as PEM files; their paths."""
        cert, key = folder / f"{name}cert.pem", folder / f"{name}key.pem"
        cert.write_bytes(self.cert.public_bytes(serialization.Encoding.PEM))
        key.touch(mode=0o600)
        key.write_bytes(
            self.key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return cert, key


@dataclass(frozen=True, slots=True)
class Odd:
    """How a leaf differs from a good client's."""

    uris: tuple[str, ...] = (URI,)
    usage: x509.ObjectIdentifier = CLIENT_AUTH
    start: timedelta = -DAY
    end: timedelta = DAY
    is_ca: bool = False


def _build(
    name: str, issuer: str, start: timedelta, end: timedelta
) -> tuple[x509.CertificateBuilder, ec.EllipticCurvePrivateKey]:
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + start)
        .not_valid_after(now + end)
    )
    return builder, key


def make_ca(name: str) -> Pair:
    """A self-signed CA."""
    builder, key = _build(name, name, -DAY, DAY)
    constraints = x509.BasicConstraints(ca=True, path_length=0)
    builder = builder.add_extension(constraints, critical=True)
    return Pair(builder.sign(key, hashes.SHA256()), key)


def _key_usage() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def make_leaf(ca: Pair, odd: Odd) -> Pair:
    """A leaf signed by `ca`."""
    issuer = ca.cert.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value
    builder, key = _build("leaf", str(issuer), odd.start, odd.end)
    constraints = x509.BasicConstraints(ca=odd.is_ca, path_length=None)
    builder = builder.add_extension(constraints, critical=True)
    builder = builder.add_extension(_key_usage(), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([odd.usage]), critical=False)
    if odd.uris:
        names = [x509.UniformResourceIdentifier(uri) for uri in odd.uris]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), False)
    return Pair(builder.sign(ca.key, hashes.SHA256()), key)


class Server:
    """A running tls_server and what it has said."""

    def __init__(self, folder: Path, handshake_ms: int, greeting_ms: int) -> None:
        self.folder = folder
        self.ca = make_ca("Test CA")
        self.ca.write(folder, "ca-")
        (folder / "ca-cert.pem").rename(folder / "ca.pem")
        make_leaf(self.ca, Odd(uris=(GATE,), usage=SERVER_AUTH)).write(folder)
        words = [str(SERVER), str(folder), str(handshake_ms), str(greeting_ms)]
        pipe = subprocess.PIPE
        self._said = folder / "stderr"
        with self._said.open("wb") as said:
            self.process = subprocess.Popen(
                words, stdin=pipe, stdout=pipe, stderr=said, text=True
            )
        self.port = int(self.line()[1])

    def line(self) -> list[str]:
        """The next event, in words."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().split()

    def stop(self) -> list[str]:
        """End it; what it had not yet said."""
        rest, _ = self.process.communicate(timeout=30)
        assert self.process.returncode == 0, self._said.read_text()
        return [str(line) for line in rest.splitlines()]

    def stop_losing_replies(self, most: int) -> None:
        """End it, of which LeakSanitizer may say what leaks.py explains."""
        self.process.communicate(timeout=30)
        said = self._said.read_text()
        assert self.process.returncode == 0 or "ERROR: LeakSanitizer" in said, said
        leaks.only_replies_on_their_way(said, request=BODY[4:], most=most)

    def connect(self, pair: Pair | None) -> ssl.SSLSocket:
        """TLS 1.3 ends for a client before the server has judged it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(self.folder / "ca.pem")
        if pair is not None:
            context.load_cert_chain(*pair.write(self.folder, "peer-"))
        plain = socket.create_connection(("127.0.0.1", self.port), 10)
        return context.wrap_socket(plain)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server with the real limits."""
    running = Server(tmp_path, 0, 0)
    yield running
    running.process.kill()
    running.process.wait()


CASES = {
    "expired": (Odd(start=-3 * DAY, end=-DAY), "expired", 45, "EXPIRED"),
    "not_yet": (Odd(start=DAY, end=2 * DAY), "not_yet_valid", 46, "UNKNOWN"),
    "no_san": (Odd(uris=()), "no_san", 42, "BAD_CERTIFICATE"),
    "two_uris": (Odd(uris=(URI, GATE)), "many_uris", 42, "BAD_CERTIFICATE"),
    "bad_san": (Odd(uris=("https://x/",)), "bad_san", 42, "BAD_CERTIFICATE"),
    "for_servers": (Odd(usage=SERVER_AUTH), "bad_usage", 43, "UNSUPPORTED"),
    "a_ca": (Odd(is_ca=True), "ca_certificate", 43, "UNSUPPORTED"),
}


def _refused(server: Server, pair: Pair | None, said: list[str], heard: str) -> None:
    with server.connect(pair) as tls:
        with pytest.raises(ssl.SSLError) as refusal:
            tls.sendall(GREETING + REQUEST)
            tls.recv(8)
        assert heard in str(refusal.value.reason)
    assert server.line() == ["reject", *said, "0"]
    assert server.stop() == ["stats 0 0 0 1"]


@pytest.mark.parametrize("name", CASES)
def test_claim_04_openssl_reads_why_it_was_refused(server: Server, name: str) -> None:
    odd, cause, alert, heard = CASES[name]
    _refused(server, make_leaf(server.ca, odd), [cause, str(alert)], heard)


def test_claim_04_no_certificate(server: Server) -> None:
    _refused(server, None, ["no_certificate", "116"], "CERTIFICATE_REQUIRED")


def test_claim_04_foreign_ca(server: Server) -> None:
    pair = make_leaf(make_ca("Other CA"), Odd())
    _refused(server, pair, ["unknown_ca", "48"], "UNKNOWN_CA")


def test_claim_04_foreign_ca_with_the_same_name(server: Server) -> None:
    pair = make_leaf(make_ca("Test CA"), Odd())
    _refused(server, pair, ["bad_signature", "42"], "BAD_CERTIFICATE")


def test_a_good_certificate_is_answered(server: Server) -> None:
    with server.connect(make_leaf(server.ca, Odd())) as tls:
        assert tls.recv(8) == b"\0SP\0\0\x31\0\0"
        tls.sendall(GREETING + REQUEST)
        assert tls.recv(100) == REQUEST
        assert tls.version() == "TLSv1.3"
        assert tls.session is None or not tls.session.has_ticket
    assert server.line() == ["accept", URI]


LEAVE = 200
LEAVE_WITH_A_REPLY_DUE = LEAVE * 3 // 4 // 10  # of those, far fewer are that unlucky


def _leave(server: Server, pair: Pair, how: int) -> None:
    """Go away at one of several bad moments."""
    tls = server.connect(pair)
    if how > 0:
        tls.sendall(GREETING + REQUEST * how)
    if how > 1:
        tls.recv(8)
    if how > 2:
        linger = struct.pack("ii", 1, 0)
        tls.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    tls.close()


def test_peers_that_leave_at_bad_moments_leave_nothing(server: Server) -> None:
    pair = make_leaf(server.ca, Odd())
    descriptors = Path(f"/proc/{server.process.pid}/fd")
    before = len(list(descriptors.iterdir()))
    for turn in range(LEAVE):
        _leave(server, pair, turn % 4)
    with server.connect(pair) as tls:
        assert tls.recv(8) == b"\0SP\0\0\x31\0\0"
        tls.sendall(GREETING + REQUEST)
        assert tls.recv(100) == REQUEST
    deadline = time.monotonic() + 10
    while len(list(descriptors.iterdir())) > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(list(descriptors.iterdir())) <= before
    server.stop_losing_replies(LEAVE_WITH_A_REPLY_DUE)


def test_tls_12_is_refused(server: Server) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    plain = socket.create_connection(("127.0.0.1", server.port), 10)
    with plain, pytest.raises(ssl.SSLError):
        context.wrap_socket(plain)
    assert server.line()[:2] == ["reject", "protocol"]


def test_claim_04_half_open_ends_after_five_seconds(server: Server) -> None:
    start = time.monotonic()
    with socket.create_connection(("127.0.0.1", server.port), 10) as plain:
        plain.sendall(b"\x16\x03\x01")
        assert plain.recv(1) == b""
    assert 4.5 < time.monotonic() - start < 6.5
    assert server.line() == ["reject", "handshake_timeout", "0", "0"]


def test_claim_04_no_greeting_ends_after_ten_seconds(server: Server) -> None:
    with server.connect(make_leaf(server.ca, Odd())) as tls:
        start = time.monotonic()
        tls.settimeout(20)
        assert tls.recv(8) == b"\0SP\0\0\x31\0\0"
        assert tls.recv(8) == b""
        assert 9.0 < time.monotonic() - start < 12.0
    assert server.line()[0] == "accept"
    assert server.line() == ["reject", "greeting_timeout", "0", "0"]
