"""A gate for tests: TLS, SP and envelopes are real, the answers are the test's.

python3 -m tests.client.fake_gate FOLDER    runs one until stdin ends; FOLDER holds
                                            ca.pem cert.pem key.pem; prints its port
"""

from __future__ import annotations

import contextlib
import os
import queue
import select
import socket
import ssl
import struct
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from warded import v1

GREETING = b"\0SP\0\0\x31\0\0"
CLOSE = object()

Answer = Callable[["FakeGate", Any], Any]  # a Reply, raw bytes, None or CLOSE


@dataclass
class Seen:
    """What a fake gate saw."""

    connections: int = 0
    handshakes: int = 0
    closed: int = 0
    bytes_after_handshake: int = 0
    refusals: list[str] = field(default_factory=list)
    requests: list[Any] = field(default_factory=list)


class FakeGate:
    """Accepts on 127.0.0.1; one thread a connection, answers from a pool."""

    def __init__(
        self,
        folder: Path,
        answer: Answer | None = None,
        *,
        ahead_ms: int = 0,
        greeting: bytes = GREETING,
        address: str = "127.0.0.1:0",
    ) -> None:
        self.seen = Seen()
        self.changed = threading.Condition()
        self.ahead_ms = ahead_ms
        self._answer = answer or answer_by_method
        self._greeting = greeting
        self._context = _context(folder)
        self._pool = ThreadPoolExecutor(64)
        self._open: set[_Conn] = set()
        host, port = address.split(":")
        self._listener = socket.create_server((host, int(port)))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> FakeGate:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def server_line(self) -> str:
        """For a profile's `server` file."""
        return f"127.0.0.1:{self.port}\n"

    def now_ms(self) -> int:
        """This gate's clock, which may be wrong."""
        return time.time_ns() // 1_000_000 + self.ahead_ms

    def drop_connections(self) -> None:
        """Close what is open; go on accepting."""
        for conn in list(self._open):
            conn.push(CLOSE)

    def close(self) -> None:
        """Close everything."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.drop_connections()
        self._pool.shutdown(wait=False)

    def note(self, **changes: int) -> None:
        """Count; wakes `wait_for`."""
        with self.changed:
            for name, more in changes.items():
                setattr(self.seen, name, getattr(self.seen, name) + more)
            self.changed.notify_all()

    def wait_for(self, predicate: Callable[[Seen], bool], seconds: float = 10) -> None:
        """Wait until `seen` is so."""
        with self.changed:
            assert self.changed.wait_for(lambda: predicate(self.seen), seconds)

    def reply(self, request: Any, **fields: Any) -> Any:
        """A Reply to `request`, with this gate's clock and a head."""
        head = v1.AuditHead(seq=len(self.seen.requests), hash=b"\7" * 32)
        return v1.Reply(
            call_id=request.call_id, now_ms=self.now_ms(), head=head, **fields
        )

    def serve_request(self, conn: _Conn, request_id: bytes, body: bytes) -> None:
        """Note the request, and answer it from the pool."""
        request = v1.Request.FromString(body)
        with self.changed:
            self.seen.requests.append(request)
            self.changed.notify_all()
        self._pool.submit(self._run_answer, conn, request_id, request)

    def _run_answer(self, conn: _Conn, request_id: bytes, request: Any) -> None:
        answer = self._answer(self, request)
        if answer is None or answer is CLOSE:
            conn.push(answer)
            return
        body = answer if isinstance(answer, bytes) else answer.SerializeToString()
        conn.push(struct.pack(">Q", len(body) + 4) + request_id + body)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                raw, _ = self._listener.accept()
                self.note(connections=1)
                threading.Thread(target=self._serve, args=(raw,), daemon=True).start()

    def _serve(self, raw: socket.socket) -> None:
        raw.settimeout(10)
        try:
            tls = self._context.wrap_socket(raw, server_side=True)
        except OSError as error:
            raw.close()
            with self.changed:
                self.seen.refusals.append(str(error))
                self.changed.notify_all()
            return
        self.note(handshakes=1)
        conn = _Conn(self, tls)
        self._open.add(conn)
        with contextlib.suppress(OSError):
            conn.serve(self._greeting)
        self._open.discard(conn)
        tls.close()
        self.note(closed=1)


class _Conn:
    """One connection: its thread alone touches the TLS object."""

    def __init__(self, gate: FakeGate, tls: ssl.SSLSocket) -> None:
        self._gate = gate
        self._tls = tls
        self._out: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._wake_out, self._wake_in = os.pipe()
        self._buffer = b""

    def push(self, data: Any) -> None:
        """Send bytes, or CLOSE, from the connection's thread."""
        if data is not None:
            self._out.put(data)
            with contextlib.suppress(OSError):
                os.write(self._wake_in, b"\0")

    def serve(self, greeting: bytes) -> None:
        try:
            self._tls.sendall(greeting)
            while self._turn():
                pass
        finally:
            os.close(self._wake_out)
            os.close(self._wake_in)

    def _turn(self) -> bool:
        if not self._tls.pending():
            fds = [self._tls.fileno(), self._wake_out]
            ready, _, _ = select.select(fds, [], [])
            if self._wake_out in ready:
                os.read(self._wake_out, 4096)
                return self._send_all()
        data = self._tls.recv(1 << 16)
        self._gate.note(bytes_after_handshake=len(data))
        self._buffer += data
        if len(self._buffer) >= 8 and self._buffer.startswith(b"\0SP\0"):
            self._buffer = self._buffer[8:]
        self._take_frames()
        return bool(data)

    def _send_all(self) -> bool:
        while not self._out.empty():
            data = self._out.get()
            if data is CLOSE:
                return False
            self._tls.sendall(data)
        return True

    def _take_frames(self) -> None:
        while len(self._buffer) >= 8 and not self._buffer.startswith(b"\0SP\0"):
            (length,) = struct.unpack(">Q", self._buffer[:8])
            if len(self._buffer) < 8 + length:
                return
            frame, self._buffer = (
                self._buffer[8 : 8 + length],
                self._buffer[8 + length :],
            )
            self._gate.serve_request(self, frame[:4], frame[4:])


def answer_by_method(gate: FakeGate, request: Any) -> Any:
    """What a gate would say: times checked, Health answers, actions are echoed."""
    made_ms = int.from_bytes(request.call_id[:6], "big")
    if made_ms > gate.now_ms() + 60_000:
        return gate.reply(request, code=3, reason=v1.CLOCK_SKEW, message="ahead")
    if made_ms < gate.now_ms() - 15 * 60_000:
        return gate.reply(request, code=10, reason=v1.CALL_ID_EXPIRED, message="old")
    if request.kind == v1.Request.CANCEL:
        return gate.reply(request)
    if request.method == "/warded.v1.Health/Check":
        check = v1.HealthCheckRequest.FromString(request.payload)
        reply = v1.HealthCheckReply(
            status=v1.HealthCheckReply.SERVING, padding=check.padding
        )
    else:
        reply = _echo(v1.GetObservationRequest.FromString(request.payload))
    return gate.reply(request, payload=reply.SerializeToString())


def _echo(request: Any) -> Any:
    return v1.GetObservationReply(
        results=[
            v1.Result(
                status=v1.Result.OK,
                content=[v1.Content(name="stdout", text=item.action)],
                tool=item.tool,
            )
            for item in request.items
        ]
    )


def _context(folder: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(folder / "ca.pem")
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


def main() -> None:
    """Run one until stdin ends."""
    with FakeGate(Path(sys.argv[1])) as gate:
        print(gate.port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
