"""TLS without a socket: bytes in, bytes out, over OpenSSL's memory BIOs.

One SSL object must not be used by two threads at once; here nothing blocks, so the
caller's lock is never held across I/O.
"""

from __future__ import annotations

import ssl
from typing import Any

_RECORD = 1 << 14  # what OpenSSL gives at a time, at most


class TlsClosedError(Exception):
    """The peer has closed the TLS stream in order."""


class Tls:
    """The client's half of one TLS connection. Threads: one at a time."""

    def __init__(self, context: ssl.SSLContext, server_name: str) -> None:
        self.failure: Exception | None = None
        """Why nothing more will come: ssl.SSLError (an alert) or TlsClosedError."""
        self._in = ssl.MemoryBIO()
        self._out = ssl.MemoryBIO()
        self._record = memoryview(bytearray(_RECORD))
        self._object = context.wrap_bio(
            self._in, self._out, server_hostname=server_name
        )

    def handshake(self, data: bytes = b"") -> bool:
        """Take bytes of the peer; whether the handshake is now complete on our side.

        What it wants sent waits in `outgoing`: also our certificate and Finished, so
        that the caller can look at the peer's certificate before they leave.
        Raises ssl.SSLError.
        """
        self._in.write(data)
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def peer_certificate(self) -> bytes:
        """The peer's certificate, DER, its chain verified."""
        return self._object.getpeercert(binary_form=True) or b""

    def outgoing(self) -> bytes:
        """Bytes to send to the peer."""
        return self._out.read()

    def encrypt(self, data: bytes) -> bytes:
        """`data` as TLS records, with whatever else waited to be sent."""
        view = memoryview(data)
        while view:
            view = view[self._object.write(view) :]
        return self._out.read()

    def decrypt(self, data: bytes | memoryview) -> bytes:
        """What the peer's bytes say; may be empty. How the stream ended: `failure`."""
        read: Any = self._object.read  # into a buffer: then it returns a size
        self._in.write(data)
        parts = []
        while self.failure is None:
            try:
                size = read(_RECORD, self._record)
            except ssl.SSLWantReadError:
                break
            except ssl.SSLZeroReturnError:
                size = 0
            except ssl.SSLError as error:
                self.failure = error
                break
            if size == 0:
                self.failure = TlsClosedError("the peer closed the connection")
            parts.append(self._record[:size].tobytes())
        return parts[0] if len(parts) == 1 else b"".join(parts)


def alert_name(error: ssl.SSLError) -> str:
    """The alert that the peer sent ("unknown_ca"), or "" when it sent none."""
    reason = error.reason or ""
    for prefix in ("TLSV13_ALERT_", "TLSV1_ALERT_", "SSLV3_ALERT_", "TLS_ALERT_"):
        if reason.startswith(prefix):
            return reason.removeprefix(prefix).lower()
    return ""
