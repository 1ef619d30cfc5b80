"""One live connection: many calls in flight, one thread that reads their answers.

Callers encrypt and send on their own threads, without blocking; what the kernel does
not take at once the connection's thread sends. A call of which not every byte went to
the kernel can't have run; any other that loses its connection has an unknown outcome.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from warded import _fork
from warded._call import Call
from warded._open import Opened
from warded._wire import Answer, WireError
from warded._witness import chain_name
from warded.errors import Failure, RpcError, make_error, unreachable
from warded.status import Phase, Reason, StatusCode

_CHUNK = 1 << 18
_FOREVER_MS = 1 << 62

OnAnswer = Callable[[Call[Any], bytes], None]


class NotSentError(Exception):
    """The connection was dead already: the call can go by another one."""


class Connection:
    """Threads: `send` and `close` from any; `serve` is its own thread's body."""

    def __init__(self, opened: Opened, on_answer: OnAnswer) -> None:
        self.chain = chain_name(opened.gate.uri, opened.trust)
        self.dead = False
        self.retired = False
        self._socket = opened.socket
        self._raw = opened.socket.raw
        self._raw.setblocking(False)
        self._tls = opened.tls
        self._wire = opened.wire
        self._on_answer = on_answer
        self._lock = threading.Lock()  # guards all below, and tls and wire
        self._pending: dict[int, Call[Any] | None] = {}  # None: an answer to drop
        self._outgoing: deque[tuple[int, memoryview]] = deque()
        self._expiry_ms = _FOREVER_MS
        self._wake_out, self._wake_in = _pipe()
        _fork.registry.add(self)

    def send(self, body: bytes, call: Call[Any] | None) -> None:
        """Send one envelope; `call` receives the answer, None drops it.

        Raises NotSentError (the connection is dead or being left), FrameTooLarge.
        """
        if not self._pending:
            self._pump()  # has the gate gone while nothing was in flight?
        with self._lock:
            if self.dead or (self.retired and call is not None):
                raise NotSentError
            request_id, frame = self._wire.request(body)
            self._pending[request_id] = call
            data = self._tls.encrypt(frame)
            self._outgoing.append((request_id, memoryview(data)))
            if call is not None:
                call.sent = True
            wake = self._note_expiry(call)
            failure = self._flush()
            wake = wake or bool(self._outgoing)
        if failure:
            self._die(failure)
        elif wake:
            self._wake()

    def serve(self) -> None:
        """Read answers until the connection ends; the body of its thread."""
        poll = select.poll()
        poll.register(self._wake_out, select.POLLIN)
        while not self.dead:
            events = select.POLLIN | (select.POLLOUT if self._outgoing else 0)
            poll.register(self._raw, events)
            ready = poll.poll(self._wait_ms())
            if any(fd == self._wake_out for fd, _ in ready):
                _drain(self._wake_out)
            if any(fd != self._wake_out for fd, _ in ready):
                self._pump()
            self._expire()
            if self.retired and self._is_idle():
                self.close("no call is left on it")

    def is_fit(self) -> bool:
        """Whether it takes new calls."""
        return not (self.dead or self.retired)

    def retire(self) -> None:
        """Take no new calls; end once those in flight have their answers."""
        self.retired = True
        self._wake()

    def close(self, why: str) -> None:
        """End now; calls in flight fail."""
        self._die(why)

    def abandon(self) -> None:
        """In a forked child: the descriptors are the parent's business."""
        self.dead = True
        for fd in (self._wake_out, self._wake_in):
            with contextlib.suppress(OSError):
                os.close(fd)

    # --- with the lock held

    def _flush(self) -> str:
        """Send what the kernel takes; why the connection is dead, or nothing."""
        while self._outgoing:
            request_id, view = self._outgoing[0]
            try:
                count = self._raw.send(view)
            except (BlockingIOError, InterruptedError):
                return ""
            except OSError as error:
                return error.strerror or str(error)
            if count < len(view):
                self._outgoing[0] = (request_id, view[count:])
                return ""
            self._outgoing.popleft()
        return ""

    def _note_expiry(self, call: Call[Any] | None) -> bool:
        """Whether the thread has to be woken because it would wait for too long."""
        if call is None or call.last_moment_ms() >= self._expiry_ms:
            return False
        self._expiry_ms = call.last_moment_ms()
        return True

    def _read(self) -> tuple[list[tuple[Call[Any] | None, bytes]], str]:
        """Answers that have come, and why the connection is dead, or nothing."""
        try:
            data = self._raw.recv(_CHUNK)
        except (BlockingIOError, InterruptedError):
            return [], ""
        except OSError as error:
            return [], error.strerror or str(error)
        plain = self._tls.decrypt(data)
        answers = []
        try:
            for event in self._wire.receive(plain):
                if isinstance(event, Answer):
                    call = self._pending.pop(event.request_id)
                    answers.append((call, event.body))
        except WireError as error:
            return answers, f"it broke the protocol: {error}"
        if self._tls.failure is not None:
            return answers, str(self._tls.failure)
        return answers, "" if data else "the gate closed the connection"

    # --- without it

    def _pump(self) -> None:
        with self._lock:
            if self.dead:
                return
            failure = self._flush()
            answers, ended = self._read()
        for call, body in answers:
            if call is not None:
                self._on_answer(call, body)
        if failure or ended:
            self._die(failure or ended)

    def _expire(self) -> None:
        now_ms = time.monotonic_ns() // 1_000_000
        if now_ms < self._expiry_ms:
            return
        with self._lock:
            late = {
                request_id: call
                for request_id, call in self._pending.items()
                if call is not None and (call.done() or call.last_moment_ms() <= now_ms)
            }
            for request_id in late:
                del self._pending[request_id]
                self._wire.forget(request_id)
            self._expiry_ms = min(
                (c.last_moment_ms() for c in self._pending.values() if c is not None),
                default=_FOREVER_MS,
            )
        for call in late.values():
            call.expire()

    def _is_idle(self) -> bool:
        with self._lock:
            return all(call is None for call in self._pending.values())

    def _wait_ms(self) -> int | None:
        if self._expiry_ms == _FOREVER_MS:
            return None
        return max(0, self._expiry_ms - time.monotonic_ns() // 1_000_000 + 1)

    def _wake(self) -> None:
        with self._lock, contextlib.suppress(OSError):
            if not self.dead:
                os.write(self._wake_in, b"\0")

    def _die(self, why: str) -> None:
        with self._lock:
            if self.dead:
                return
            self.dead = True
            pending, self._pending = self._pending, {}
            unsent = {request_id for request_id, _ in self._outgoing}
            self._outgoing.clear()
            _fork.registry.discard(self)
            with contextlib.suppress(OSError):
                self._raw.shutdown(socket.SHUT_RDWR)  # wakes the poll of `serve`
        for request_id, call in pending.items():
            if call is not None:
                call.refuse(_lost(call, why, sent=request_id not in unsent))

    def release(self) -> None:
        """Close the descriptors, once `serve` has returned."""
        self._socket.close()
        for fd in (self._wake_out, self._wake_in):
            os.close(fd)


def _lost(call: Call[Any], why: str, *, sent: bool) -> RpcError:
    message = f"{call.ask.path}: the connection ended: {why}"
    if not sent:
        return unreachable(message, Phase.SEND, call_id=call.call_id)
    return make_error(
        Failure(
            StatusCode.ABORTED,
            Reason.OUTCOME_UNKNOWN,
            f"{message}; the call was sent and may have run; look for call id "
            f"{call.call_id} in the audit trail before you send it again",
            Phase.WAIT,
            call_id=call.call_id,
        )
    )


def _pipe() -> tuple[int, int]:
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    os.set_blocking(write_end, False)
    return read_end, write_end


def _drain(fd: int) -> None:
    with contextlib.suppress(BlockingIOError):
        os.read(fd, 4096)
