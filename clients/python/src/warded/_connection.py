"""One live connection: many calls in flight, and who reads their answers.

Callers encrypt and send on their own threads, without blocking. A caller that waits
alone reads the answers itself; else the connection's own thread does (_readers.py).
While many calls are in flight, requests are gathered until someone waits or reads: one
record and one system call for many. A call of which not every byte went to the kernel
can't have run; of any other that loses its connection nobody knows.
"""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from warded import _fork
from warded._call import Call
from warded._open import Opened
from warded._outbox import Outbox
from warded._readers import Readers
from warded._wakeup import Wakeup
from warded._wire import Answer, WireError
from warded._witness import chain_name

_CHUNK = 1 << 17
_FOREVER_MS = 1 << 62
_GATHER = 8  # with fewer calls in flight a request leaves at once

OnAnswer = Callable[[Call[Any], bytes], None]
OnLost = Callable[[Call[Any], str, bool], None]  # why; whether it may have run


class NotSentError(Exception):
    """The connection was dead already: the call can go by another one."""


class Connection:
    """Threads: `send` and `close` from any; `serve` is its own thread's body."""

    def __init__(self, opened: Opened, on_answer: OnAnswer, on_lost: OnLost) -> None:
        self.chain = chain_name(opened.gate.uri, opened.trust)
        self.route = (self.chain, opened.mine)
        self.dead = False
        self.retired = False
        self._socket = opened.socket
        self._raw = opened.socket.raw
        self._raw.setblocking(False)
        self._tls = opened.tls
        self._wire = opened.wire
        self._on_answer, self._on_lost = on_answer, on_lost
        self._lock = threading.Lock()  # guards all below, and tls and wire
        self._pending: dict[int, Call[Any] | None] = {}  # None: an answer to drop
        self._was_busy = False  # when answers last came
        self._outbox = Outbox(opened.tls, self._raw)
        self._readers = Readers(self._lock)
        self._chunk = memoryview(bytearray(_CHUNK))
        self._poll = select.poll()  # of the caller that reads
        self._expiry_ms = _FOREVER_MS
        self._wakeup = Wakeup()
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
            wake = self._outbox.add(request_id, frame)
            if call is not None:
                call.sent = True
            late = self._note_expiry(call)
            failure = ""
            if call is None or self._readers.caller_reads or not self.is_busy:
                failure = self._outbox.flush()
                wake = self._outbox.is_stuck
        if failure:
            self._die(failure)
        elif late or (wake and not self._readers.is_aside):
            self._wake()

    def wait(self, call: Call[Any], left_ms: int) -> None:
        """Return once `call` has ended, or after `left_ms`, or now and then.

        Reads answers meanwhile, anyone's, unless somebody else does.
        """
        readers = self._readers
        readers.waiting.add(call)
        reads = False
        try:
            if len(readers.waiting) == 1 or self._outbox.has_gathered:
                reads = self._prepare_to_wait()
            if reads:
                self._read_for(call, left_ms)
            else:
                call.wait(left_ms)
        finally:
            readers.waiting.discard(call)
            if reads:
                readers.end()

    def serve(self) -> None:
        """Read answers until the connection ends; the body of its thread."""
        poll = select.poll()
        poll.register(self._wakeup.fd, select.POLLIN)
        while not self.dead:
            if self._readers.are_at_it():
                self._readers.stay_aside(self._wait_ms())
            else:
                poll.register(self._raw, self._events())
                poll.poll(self._wait_ms())
                self._wakeup.clear()
            if not self._readers.are_at_it():
                self._pump()
            self._expire()
            if self.retired and self._is_idle():
                self.close("no call is left on it")

    @property
    def is_busy(self) -> bool:
        """Whether so many calls are in flight that what they share is worth sharing."""
        return self._was_busy or len(self._pending) >= _GATHER

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
        self._wakeup.close()

    # --- with the lock held

    def _note_expiry(self, call: Call[Any] | None) -> bool:
        """Whether the thread has to be woken because it would wait for too long."""
        if call is None:
            return False
        last_ms = call.last_moment_ms()
        if last_ms >= self._expiry_ms:
            return False
        self._expiry_ms = last_ms
        return True

    def _read(self, answers: list[tuple[Call[Any] | None, bytes]]) -> str:
        """Add the answers that have come; why the connection is dead, or nothing."""
        try:
            size = self._raw.recv_into(self._chunk)
        except (BlockingIOError, InterruptedError):
            return ""
        except OSError as error:
            return error.strerror or str(error)
        self._was_busy = len(self._pending) >= _GATHER
        try:
            for event in self._wire.receive(self._tls.decrypt(self._chunk[:size])):
                if isinstance(event, Answer):
                    answers.append((self._pending.pop(event.request_id), event.body))
        except WireError as error:
            return f"it broke the protocol: {error}"
        if self._tls.failure is not None:
            return str(self._tls.failure)
        return "" if size else "the gate closed the connection"

    # --- without it

    def _events(self) -> int:
        return select.POLLIN | (select.POLLOUT if self._outbox.is_stuck else 0)

    def _read_for(self, call: Call[Any], left_ms: int) -> None:
        """Read until `call` has ended; no other thread is doing so."""
        until_ms = time.monotonic_ns() // 1_000_000 + max(left_ms, 0)
        while not call.done() and not self.dead:
            now_ms = time.monotonic_ns() // 1_000_000
            if now_ms >= until_ms:
                return
            self._poll.register(self._raw, self._events())
            self._poll.poll(until_ms - now_ms)
            self._pump(reads=True)

    def _prepare_to_wait(self) -> bool:
        """Send what is gathered; whether the caller has to read: nobody else does."""
        with self._lock:
            if self.dead:
                return False
            failure = self._outbox.flush()
            if not failure:
                return self._readers.begin()
        self._die(failure)
        return False

    def _pump(self, *, reads: bool = False) -> None:
        """Send and read what is there; `reads`: as the caller that reads."""
        answers: list[tuple[Call[Any] | None, bytes]] = []
        try:
            with self._lock:
                if self.dead or self._readers.caller_reads != reads:
                    return
                failure = self._outbox.flush() or self._read(answers)
                self._readers.handing_out += 1
            self._hand_out(answers)
        except BaseException:  # Ctrl-C, in a caller: who knows what was left undone
            self._break(answers)
            raise
        if failure:
            self._die(failure)

    def _hand_out(self, answers: list[tuple[Call[Any] | None, bytes]]) -> None:
        try:
            for call, body in answers:
                if call is not None:
                    self._on_answer(call, body)
        finally:
            with self._lock:
                self._readers.handing_out -= 1

    def _break(self, answers: list[tuple[Call[Any] | None, bytes]]) -> None:
        """Give up a connection, and the calls whose answers were at hand."""
        why = "its reader was interrupted"
        self._die(why)
        for call, _ in answers:
            if call is not None:
                self._on_lost(call, why, True)

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
        with self._lock:
            if not self.dead:
                self._wakeup.set()
        self._readers.call_back()

    def _die(self, why: str) -> None:
        with self._lock:
            if self.dead:
                return
            self.dead = True
            pending, self._pending = self._pending, {}
            unsent = self._outbox.drop()
            _fork.registry.discard(self)
            with contextlib.suppress(OSError):
                self._raw.shutdown(socket.SHUT_RDWR)  # wakes those that poll
        self._readers.call_back()
        for request_id, call in pending.items():
            if call is not None:
                self._on_lost(call, why, request_id not in unsent)

    def release(self) -> None:
        """Close the descriptors, once `serve` has returned."""
        self._socket.close()
        self._wakeup.close()
