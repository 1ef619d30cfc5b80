"""Opening a connection: resolve, connect, TLS, who is it, greeting.

Nothing of ours leaves before the gate's certificate has passed the policy: not even our
own certificate. And nothing but the handshake leaves before the gate's greeting: a TLS
1.3 client finishes before the gate has judged its certificate.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from dataclasses import dataclass

from warded import _fork
from warded._endpoint import Server
from warded._spiffe import Spiffe
from warded._tls import Tls, alert_name
from warded._wire import Wire, WireError
from warded.errors import Failure, RpcError, make_error, unreachable
from warded.identity import (
    Identity,
    IdentityError,
    NotAdoptedError,
    judge,
    read_identity,
)
from warded.profile import Credentials
from warded.status import Phase, Reason, StatusCode

CONNECT_S = 10.0
HANDSHAKE_S = 10.0  # until the greeting; the gate itself allows 5 s for its half
_CHUNK = 1 << 16
_KEEPALIVE = (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))


class Socket:
    """A socket that a forked child drops without a word. Owns: the descriptor."""

    def __init__(self, family: int, kind: int, proto: int) -> None:
        self.raw = socket.socket(family, kind, proto)
        _fork.registry.add(self)

    def close(self) -> None:
        """Close it; more than once is harmless."""
        _fork.registry.discard(self)
        self.raw.close()

    def abandon(self) -> None:
        """In a forked child: close our copy of the descriptor."""
        fd = self.raw.detach()
        if fd >= 0:
            socket.close(fd)


@dataclass
class Progress:
    """How far an attempt has come, for the errors of those who wait for it."""

    phase: Phase = Phase.RESOLVE
    server: str = ""


@dataclass(frozen=True)
class Opened:
    """A connection that is ready for requests, its socket still blocking."""

    socket: Socket
    tls: Tls
    wire: Wire
    gate: Identity
    mine: Spiffe  # whom the gate takes us for
    trust: str  # which CA


def open_first(credentials: Credentials, progress: Progress) -> Opened:
    """Open the first of the profile's servers that can be reached.

    Raises Unreachable (the last server's), HostNotAdopted, TlsRefused (any's).
    """
    failure: RpcError | None = None
    for server in credentials.servers:
        try:
            return open_one(credentials, server, progress)
        except RpcError as error:
            if error.reason is not Reason.UNREACHABLE:
                raise
            failure = error
    assert failure is not None  # a server file names at least one
    raise failure


def open_one(credentials: Credentials, server: Server, progress: Progress) -> Opened:
    """Open one connection; blocks for at most CONNECT_S + HANDSHAKE_S and resolving."""
    progress.server = str(server.dial)
    sock = _connect(server, progress)
    try:
        return _Handshake(credentials, server, progress, sock).run()
    except BaseException:
        sock.close()
        raise


def _connect(server: Server, progress: Progress) -> Socket:
    progress.phase = Phase.RESOLVE
    dial = server.dial
    try:
        found = socket.getaddrinfo(dial.host, dial.port, type=socket.SOCK_STREAM)
    except OSError as error:
        message = f"can't resolve {dial.host}: {error.strerror or error}"
        raise unreachable(message, Phase.RESOLVE) from error
    progress.phase = Phase.CONNECT
    failure: OSError | None = None
    for family, kind, proto, _, address in found:
        sock = Socket(family, kind, proto)
        try:
            sock.raw.settimeout(CONNECT_S)
            sock.raw.connect(address)
            _set_options(sock.raw)
            return sock
        except OSError as error:
            failure = error
            sock.close()
    why = failure.strerror or str(failure) if failure else "it has no address"
    raise unreachable(
        f"can't connect to {dial}: {why}; is the gate up, and is this the address in "
        "its run/address?",
        Phase.CONNECT,
    ) from failure


def _set_options(raw: socket.socket) -> None:
    """Small frames leave at once; a vanished host is noticed in half a minute."""
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE:
        if hasattr(socket, name):
            raw.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


class _Handshake:
    """One attempt's state between TCP and greeting."""

    def __init__(
        self,
        credentials: Credentials,
        server: Server,
        progress: Progress,
        sock: Socket,
    ) -> None:
        self._credentials = credentials
        self._server = server
        self._progress = progress
        self._socket = sock
        self._until = time.monotonic() + HANDSHAKE_S
        self._tls = Tls(credentials.context, server.expect.host)
        self._wire = Wire()

    def run(self) -> Opened:
        self._progress.phase = Phase.TLS
        self._shake_hands()
        self._progress.phase = Phase.HOST
        gate = self._judge_host()
        self._progress.phase = Phase.TLS
        self._send(self._tls.outgoing())  # our certificate and Finished
        self._await_greeting()
        self._send(self._tls.encrypt(self._wire.greeting()))
        mine, trust = self._credentials.mine, self._credentials.trust
        return Opened(self._socket, self._tls, self._wire, gate, mine, trust)

    def _shake_hands(self) -> None:
        data = b""
        while not self._try_handshake(data):
            self._send(self._tls.outgoing())
            data = self._receive()

    def _try_handshake(self, data: bytes) -> bool:
        try:
            return self._tls.handshake(data)
        except ssl.SSLCertVerificationError as error:
            self._send_last_words()
            raise self._not_adopted(
                f"its certificate was refused: {error.verify_message}; the profile's "
                "ca.pem must be the CA that signed the gate",
                Phase.TLS,
            ) from error
        except ssl.SSLError as error:
            self._send_last_words()
            raise self._tls_error(error) from error

    def _judge_host(self) -> Identity:
        credentials = self._credentials
        try:
            gate = read_identity(self._tls.peer_certificate())
            judge(
                gate,
                credentials.policy,
                mine=credentials.mine,
                dialled=self._server.expect,
            )
        except (IdentityError, NotAdoptedError) as error:
            raise self._not_adopted(str(error), Phase.HOST) from error
        return gate

    def _await_greeting(self) -> None:
        data = b""  # the greeting may have come with the end of the handshake
        while not self._take_greeting(data):
            failure = self._tls.failure
            if isinstance(failure, ssl.SSLError):
                raise self._tls_error(failure) from failure
            if failure is not None:
                raise self._unreachable("it closed before its greeting")
            data = self._receive()

    def _take_greeting(self, data: bytes) -> bool:
        try:
            return bool(self._wire.receive(self._tls.decrypt(data)))
        except WireError as error:
            raise self._unreachable(f"it is no gate: {error}") from error

    def _receive(self) -> bytes:
        try:
            self._arm()
            data = self._socket.raw.recv(_CHUNK)
        except OSError as error:
            raise self._unreachable(error.strerror or str(error)) from error
        if not data:
            raise self._unreachable("it closed the connection during the handshake")
        return data

    def _send(self, data: bytes) -> None:
        try:
            self._arm()
            self._socket.raw.sendall(data)
        except OSError as error:
            raise self._unreachable(error.strerror or str(error)) from error

    def _arm(self) -> None:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"no handshake within {HANDSHAKE_S:g} s")
        self._socket.raw.settimeout(left)

    def _send_last_words(self) -> None:
        """Our own alert, so that the gate's record tells why; as far as it goes."""
        with contextlib.suppress(RpcError):
            self._send(self._tls.outgoing())

    def _unreachable(self, why: str) -> RpcError:
        return unreachable(f"{self._server.dial}: {why}", self._progress.phase)

    def _not_adopted(self, why: str, phase: Phase) -> RpcError:
        return make_error(
            Failure(
                StatusCode.PERMISSION_DENIED,
                Reason.HOST_NOT_ADOPTED,
                f"{self._server.dial}: {why}; nothing was sent",
                phase,
            )
        )

    def _tls_error(self, error: ssl.SSLError) -> RpcError:
        alert = alert_name(error)
        if not alert:
            return self._unreachable(f"it does not speak TLS 1.3 ({error.reason})")
        return make_error(
            Failure(
                StatusCode.UNAVAILABLE,
                Reason.TLS_REFUSED,
                f"{self._server.dial} refused the handshake: {alert}; "
                f"{_alert_cure(alert)}; not sent",
                Phase.TLS,
                alert=alert,
            )
        )


# That it carries exactly one client's SPIFFE id was seen before it was sent.
_NOT_SIGNED = (
    "cert.pem is not signed by the gate's CA, though perhaps by another of the same "
    "name: make the profile with `warded profile new` at this gate"
)


def _alert_cure(alert: str) -> str:
    cures = {
        "certificate_required": "the profile's cert.pem was not presented",
        "unknown_ca": "cert.pem must be signed by the gate's CA",
        "decrypt_error": _NOT_SIGNED,  # an OpenSSL's word for the next
        "certificate_expired": "renew the profile's cert.pem (and check both clocks)",
        "bad_certificate": _NOT_SIGNED,
        "unsupported_certificate": "cert.pem must be a P-256 client certificate",
        "certificate_unknown": "the gate denies this identity; see its audit trail",
        "protocol_version": "the gate must allow TLS 1.3",
    }
    return cures.get(alert, "the gate's audit trail says why")
