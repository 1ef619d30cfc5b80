"""A client that says what it is told to: SP over TLS, envelopes as the test makes them.

Example:
    with RawClient(profile) as raw:
        reply = raw.call("/warded.v1.Token/WhoAmI")
        assert reply.code == 0
"""

from __future__ import annotations

import contextlib
import ctypes
import secrets
import socket
import ssl
import struct
import time
from pathlib import Path
from types import TracebackType

from warded.v1 import Reply, Request

GREETING = bytes.fromhex("0053500000300000")
ANSWER = bytes.fromhex("0053500000310000")
PATIENCE_S = 30.0
SO_ATTACH_FILTER = 26
BPF_RETURN = 0x06  # of a constant: how many bytes of a packet are let in


def call_id(at_ms: int | None = None) -> bytes:
    """A UUIDv7, dated now or at `at_ms`."""
    ms = time.time_ns() // 1_000_000 if at_ms is None else at_ms
    tail = bytearray(secrets.token_bytes(10))
    tail[0] = tail[0] & 0x0F | 0x70
    tail[2] = tail[2] & 0x3F | 0x80
    return ms.to_bytes(6, "big") + bytes(tail)


class RawClient:
    """One connection of a profile."""

    def __init__(
        self,
        profile: Path,
        *,
        token: str | None = None,
        window: int = 0,
        greet: bool = True,
    ) -> None:
        """`window`: bytes that its system takes before they are read; 0: as many as
        it likes. `greet`: whether SP's greetings are exchanged."""
        self.token = (profile / "token").read_text().strip() if token is None else token
        host, port = (profile / "server").read_text().split()[0].rsplit(":", 1)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(profile / "ca.pem")
        context.load_cert_chain(profile / "cert.pem", profile / "key.pem")
        plain = socket.socket()
        if window:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        plain.settimeout(PATIENCE_S)
        plain.connect((host, int(port)))
        self._socket = context.wrap_socket(plain)
        self._last = 0
        if greet:
            self._socket.sendall(GREETING)
            assert self.read_bytes(len(ANSWER)) == ANSWER

    def __enter__(self) -> RawClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Cut the connection."""
        self._socket.close()

    def pull_cable(self) -> None:
        """From now on this end hears nothing, and so it answers nothing."""
        drop = ctypes.create_string_buffer(struct.pack("HBBI", BPF_RETURN, 0, 0, 0))
        program = struct.pack("HP", 1, ctypes.addressof(drop))
        self._socket.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)

    @property
    def port(self) -> int:
        """Of this end."""
        return int(self._socket.getsockname()[1])

    def set_patience(self, seconds: float) -> None:
        """How long a send or a read may wait."""
        self._socket.settimeout(seconds)

    def request(self, method: str, payload: object = b"", **fields: object) -> Request:
        """An envelope; `fields` replace what it would say."""
        said: dict[str, object] = {
            "version": 1,
            "call_id": call_id(),
            "method": method,
            "token": self.token,
            "payload": payload,
        }
        return Request(**(said | fields))

    def send(self, envelope: bytes) -> int:
        """Send the bytes as a request; its number."""
        self._last += 1
        body = struct.pack(">I", self._last | 0x80000000) + envelope
        self._socket.sendall(struct.pack(">Q", len(body)) + body)
        return self._last

    def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are, no frame around them."""
        self._socket.sendall(data)

    def push(self, data: bytes) -> int:
        """Send what of it the systems take at once; how many bytes. Without patience:
        set_patience(0)."""
        try:
            return self._socket.send(data)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return 0

    def pull(self, most: int) -> int:
        """Read what is there of so many bytes, likewise."""
        with contextlib.suppress(ssl.SSLWantReadError):
            if not (data := self._socket.recv(most)):
                raise ConnectionError("the gate closed the connection")
            return len(data)
        return 0

    def expect_closed(self) -> None:
        """The gate closes the connection by itself, and answers nothing but its own
        greeting."""
        data = bytearray()
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            while piece := self._socket.recv(65536):
                data += piece
        assert bytes(data) in (b"", ANSWER), data

    def finish(self) -> None:
        """Say no more, and wait until the gate has closed the connection."""
        with contextlib.suppress(ConnectionError):
            self._socket.shutdown(socket.SHUT_WR)  # and TLS is over on this end
            while self._socket.recv(65536):
                pass

    def receive(self) -> tuple[int, Reply]:
        """The next reply, and the number of its request."""
        body = self.read_bytes(self.read_length())
        number = struct.unpack(">I", body[:4])[0] & 0x7FFFFFFF
        return number, Reply.FromString(body[4:])

    def read_length(self) -> int:
        """The length of the next reply with its number, and none of it."""
        return int(struct.unpack(">Q", self.read_bytes(8))[0])

    def ask(self, request: Request | bytes) -> Reply:
        """Send one request and wait for its reply."""
        data = request if isinstance(request, bytes) else request.SerializeToString()
        number = self.send(data)
        got, reply = self.receive()
        assert got == number
        return reply

    def call(self, method: str, payload: object = b"", **fields: object) -> Reply:
        """Ask, with an envelope made here."""
        return self.ask(self.request(method, **{"payload": payload, **fields}))

    def read_bytes(self, size: int) -> bytes:
        """So many, whatever they are."""
        data = bytearray()
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            if not piece:
                raise ConnectionError("the gate closed the connection")
            data += piece
        return bytes(data)
