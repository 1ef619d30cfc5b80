"""A client without manners: whatever bytes a test wants, over the profile's own TLS."""

from __future__ import annotations

import os
import socket
import ssl
import struct
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from warded.v1 import rpc_wd

GREETING = bytes.fromhex("0053500000300000")
ANSWER = bytes.fromhex("0053500000310000")


def context(profile: Path, *, certificate: bool = True) -> ssl.SSLContext:
    """TLS as the profile has it; the host is not checked."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname = False
    tls.load_verify_locations(profile / "ca.pem")
    if certificate:
        tls.load_cert_chain(profile / "cert.pem", profile / "key.pem")
    return tls


def call_id(*, ahead_ms: int = 0) -> bytes:
    """A UUIDv7, dated `ahead_ms` from now."""
    now = time.time_ns() // 1_000_000 + ahead_ms
    body = bytearray(now.to_bytes(6, "big") + os.urandom(10))
    body[6] = body[6] & 0x0F | 0x70
    body[8] = body[8] & 0x3F | 0x80
    return bytes(body)


def uuid_text(raw: bytes) -> str:
    """As the audit trail writes it."""
    h = raw.hex()
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"


class Raw:
    """One connection, greeted."""

    def __init__(self, profile: Path, timeout: float = 30) -> None:
        host, port = (profile / "server").read_text().split()[0].rsplit(":", 1)
        self.token = (profile / "token").read_text().strip()
        self._socket = context(profile).wrap_socket(
            socket.create_connection((host, int(port)), timeout)
        )
        self._socket.sendall(GREETING)
        assert self._read(8) == ANSWER
        self._next = 1

    def __enter__(self) -> Raw:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def send(self, body: bytes) -> int:
        """One message; its request id."""
        number = 0x80000000 | self._next
        self._next += 1
        self._socket.sendall(struct.pack(">QI", len(body) + 4, number) + body)
        return number

    def send_bytes(self, data: bytes) -> None:
        """Bytes as they are, no message of ours."""
        self._socket.sendall(data)

    def receive(self) -> tuple[int, Any]:
        """The next reply and its request id."""
        (size,) = struct.unpack(">Q", self._read(8))
        body = self._read(size)
        reply = rpc_wd.Reply.FromString(body[4:])
        return struct.unpack(">I", body[:4])[0], reply

    def ask(self, method: str, message: Any = None, **fields: Any) -> Any:
        """One call, one reply."""
        number = self.send(self.request(method, message, **fields))
        got, reply = self.receive()
        assert got == number
        return reply

    def request(self, method: str, message: Any = None, **fields: Any) -> bytes:
        """An envelope; `fields` replace what it would hold."""
        fields = {
            "version": 1,
            "call_id": call_id(),
            "method": method,
            "token": self.token,
            "payload": b"" if message is None else message.SerializeToString(),
            **fields,
        }
        return bytes(rpc_wd.Request(**fields).SerializeToString())

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self._socket.recv(size - len(data))
            if not more:
                raise ConnectionError(f"the gate hung up after {len(data)} of {size}")
            data += more
        return data


def reason(reply: Any) -> str:
    """The name of the reply's reason; "OK" for code 0."""
    return "OK" if reply.code == 0 else str(rpc_wd.Reason.Name(reply.reason))
