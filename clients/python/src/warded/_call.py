"""One call: what was asked, how it ended, and who waits for it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from warded import _fork
from warded._callid import Clock, format_call_id
from warded._envelope import Reply
from warded.errors import Failure, RpcError, make_error
from warded.status import Phase, Reason, StatusCode

Out = TypeVar("Out")

GRACE_MS = 2000
"""How much longer than the deadline a sent call is waited for: at the deadline the gate
ends what runs, and only then answers, with what there is."""

_log = logging.getLogger("warded")


@dataclass(slots=True)  # not frozen, which costs a microsecond a call
class Ask:
    """What a caller asked for: the half of a call that does not change."""

    path: str
    payload: bytes
    read_reply: Callable[[bytes], Any]
    timeout_ms: int
    metadata: dict[str, str]
    wait_for_ready: bool


class Carrier(Protocol):
    """What a call travels by: a connection."""

    def send(self, body: bytes, call: Call[Any] | None) -> None:
        """Send an envelope."""

    def wait(self, call: Call[Any], left_ms: int) -> None:
        """Return once `call` has ended, or after `left_ms`, or now and then."""

    def retire(self) -> None:
        """Take no new calls."""


class Keeper(Protocol):
    """Who looks after a call: its link."""

    def start(self, call: Call[Any]) -> None:
        """Send it, now or once there is a connection."""

    def cancel(self, call: Call[Any]) -> None:
        """Ask the gate to end it, or take it back if it was not sent."""

    def phase(self) -> Phase:
        """How far the attempt to connect has come."""


class Call(Generic[Out]):
    """A call in flight, with the face of a `grpc.Future`.

    Threads: any. Callbacks run on the connection's thread or on that of another call's
    caller: they must not block.
    """

    def __init__(self, ask: Ask, keeper: Keeper, clock: Clock) -> None:
        self.ask = ask
        self.attempt = 0  # for the record: how often it was sent before
        self.lost_by = ""  # why its connection ended; "": it did not
        self.route: Any = None  # by which gate, and in whose name, it was sent
        self.id = b""  # the latest attempt's
        self.sent = False
        self.token = ""  # that it was sent with; a secret
        self.reply: Reply | None = None
        self.cancel_asked = False
        self.cancel_sent = False
        self.carrier: Carrier | None = None  # the connection that took it
        self._keeper = keeper
        self._clock = clock
        self._generation = _fork.registry.generation
        self.deadline_ms = clock.mono_ms() + ask.timeout_ms  # monotonic
        self._state = threading.Lock()
        self._ended = threading.Lock()  # held until the end
        self._ended.acquire()
        self._done = False
        self._value: Any = None
        self._error: RpcError | None = None
        self._callbacks: list[Callable[[Call[Out]], Any]] = []

    # --- for callers

    def result(self, timeout: float | None = None) -> Out:
        """The reply; waits for it.

        `timeout`: seconds to wait here, besides the call's own deadline.
        Raises RpcError: as the call ended; TimeoutError: `timeout` passed first.
        """
        error = self.exception(timeout)
        if error is not None:
            raise error
        return self._value  # type: ignore[no-any-return]  # set when there is no error

    def exception(self, timeout: float | None = None) -> RpcError | None:
        """How the call failed, None when it did not; waits as `result` does."""
        if self._is_foreign():
            return self._forked()
        end_ms = None if timeout is None else self._clock.mono_ms() + timeout * 1000
        while not self._done and not self._wait(end_ms):
            now_ms = self._clock.mono_ms()
            if now_ms >= self.last_moment_ms():
                self.expire()
            elif end_ms is not None and now_ms >= end_ms:
                raise TimeoutError(f"{self.ask.path}: no answer within {timeout} s")
        return self._error

    def done(self) -> bool:
        """Whether it has ended, one way or the other."""
        return self._done or self._is_foreign()

    def running(self) -> bool:
        """Whether it has not ended."""
        return not self.done()

    def cancel(self) -> bool:
        """End the call; False when it had ended already.

        The call then fails as Cancelled once the gate has confirmed that what it
        started is dead; one that was not sent fails at once.
        """
        if self.done():
            return False
        self.cancel_asked = True
        self._keeper.cancel(self)
        return True

    def cancelled(self) -> bool:
        """Whether it ended by being cancelled."""
        return self._done and self.code() is StatusCode.CANCELLED

    def add_done_callback(self, callback: Callable[[Call[Out]], Any]) -> None:
        """Call `callback(self)` once the call has ended; at once if it has."""
        with self._state:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def code(self) -> StatusCode:
        """The status of a call that has ended; waits for it."""
        error = self.exception()
        return StatusCode.OK if error is None else error.code()

    def details(self) -> str:
        """For people; empty when it ended well."""
        error = self.exception()
        return "" if error is None else error.details()

    def initial_metadata(self) -> tuple[tuple[str, str], ...]:
        """Nothing: for code that was written for gRPC."""
        return ()

    def trailing_metadata(self) -> tuple[tuple[str, str], ...]:
        """The reply's metadata."""
        return () if self.reply is None else tuple(self.reply.metadata.items())

    @property
    def call_id(self) -> str:
        """The call's UUID as the audit trail has it; empty until it is sent."""
        return format_call_id(self.id) if self.id else ""

    # --- for the method that made it, and the link

    def start(self) -> None:
        """Let it go; once."""
        self._keeper.start(self)

    def remaining_ms(self) -> int:
        """Until the deadline; may be negative."""
        return self.deadline_ms - self._clock.mono_ms()

    def wait(self, left_ms: int) -> None:
        """Block until it has ended, or for `left_ms`."""
        if self._ended.acquire(timeout=max(left_ms, 0) / 1000):
            self._ended.release()

    def last_moment_ms(self) -> int:
        """When to stop waiting, on the monotonic clock."""
        on_its_way = self.sent and self.carrier is not None
        return self.deadline_ms + (GRACE_MS if on_its_way else 0)

    def succeed(self, reply: Reply) -> None:
        """The gate answered OK."""
        try:
            value = self.ask.read_reply(reply.payload)
        except Exception as error:  # a reply type of the caller's
            _log.debug("unreadable reply to %s: %s", self.ask.path, error)
            self.fail(
                StatusCode.INTERNAL,
                Reason.BUG,
                f"{self.ask.path}: the reply can't be read: {error}; are the stubs as "
                "new as the gate?",
                Phase.REMOTE,
            )
            return
        self.reply = reply
        self._finish(value, None)

    def refuse(self, error: RpcError) -> None:
        """End with `error`, which may be shared: each call raises its own copy."""
        facts = error.failure
        own = make_error(
            Failure(
                facts.code,
                facts.reason,
                facts.message,
                facts.phase,
                facts.retry_after_ms,
                facts.alert,
                facts.call_id or self.call_id,
            )
        )
        own.__cause__ = error.__cause__
        self._finish(None, own)

    def fail(
        self, code: StatusCode, reason: Reason, message: str, phase: Phase
    ) -> None:
        """End with a failure of the client's own finding."""
        self.refuse(make_error(Failure(code, reason, message, phase)))

    def expire(self) -> None:
        """The deadline has passed."""
        seconds = self.ask.timeout_ms / 1000
        if self.sent:
            late = f" and {GRACE_MS} ms of grace"
            if self.carrier is not None:
                self.carrier.retire()  # a gate answers by now: something is wrong there
            if self.lost_by:
                late = f", the connection was lost: {self.lost_by}"
            self.fail(
                StatusCode.DEADLINE_EXCEEDED,
                Reason.RUN_TIMEOUT,
                f"{self.ask.path}: no answer within {seconds:g} s{late}; it may have "
                "run",
                Phase.WAIT,
            )
            return
        phase = Phase.SEND if seconds <= 0 else self._keeper.phase()
        self.fail(
            StatusCode.DEADLINE_EXCEEDED,
            Reason.QUEUE_TIMEOUT,
            f"{self.ask.path}: not sent within {seconds:g} s, safe to retry",
            phase,
        )

    def _wait(self, end_ms: float | None) -> bool:
        now_ms = self._clock.mono_ms()
        left_ms = self.last_moment_ms() - now_ms
        if end_ms is not None:
            left_ms = min(left_ms, int(end_ms - now_ms) + 1)
        if self.sent and self.carrier is not None:
            self.carrier.wait(self, left_ms)
        else:
            self.wait(left_ms)
        return self._done

    def _finish(self, value: Any, error: RpcError | None) -> None:
        with self._state:
            if self._done:
                return
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._ended.release()
        for callback in callbacks:
            try:
                callback(self)
            except Exception:
                _log.exception("a done-callback of %s failed", self.ask.path)

    def _is_foreign(self) -> bool:
        return self._generation != _fork.registry.generation

    def _forked(self) -> RpcError:
        return make_error(
            Failure(
                StatusCode.FAILED_PRECONDITION,
                Reason.FORKED,
                f"{self.ask.path}: this call was made by the parent process, which "
                "gets its answer; make calls of your own here",
                Phase.WAIT,
                call_id=self.call_id,
            )
        )
