"""What one process keeps for one channel: its connection, and the calls that wait.

The link's thread opens a connection whenever calls wait for one, serves it until it
ends, and goes away when there is nothing to do. A refused attempt fails the calls that
were waiting, save those that asked to wait until the gate is ready.
"""

from __future__ import annotations

import random
import threading
from typing import Any

from warded._call import Call
from warded._callid import Clock, GateClock, SystemClock, make_call_id
from warded._connection import Connection, NotSentError
from warded._envelope import (
    EnvelopeError,
    Reply,
    Request,
    decode_reply,
    encode_cancel,
)
from warded._open import Progress, open_first
from warded._wire import FrameTooLargeError
from warded._witness import Witness
from warded.errors import RpcError, unreachable
from warded.profile import Profile
from warded.status import Phase, Reason, StatusCode

_NEW_DATE = frozenset({Reason.CLOCK_SKEW, Reason.CALL_ID_EXPIRED})
_BACK_OFF_FIRST_S, _BACK_OFF_MOST_S = 0.05, 1.0
_LOOK_AT_FILES_MS = 1000


class Link:
    """Threads: any."""

    def __init__(self, profile: Profile, token: str | None) -> None:
        self.clock: Clock = SystemClock()
        self._profile = profile
        self._token = token
        self._gate_clock = GateClock(self.clock)
        self._state = threading.Condition(threading.Lock())  # guards all below
        self._connection: Connection | None = None
        self._waiting: list[Call[Any]] = []
        self._thread: threading.Thread | None = None
        self._progress = Progress()
        self._witness: Witness | None = None
        self._looked_ms = 0

    def start(self, call: Call[Any]) -> None:
        """Send `call`, now or once there is a connection; never blocks for long."""
        while True:
            connection = self._usable()
            if connection is None:
                connection = self._queue(call)
                if connection is None:
                    return
            if self._try_send(connection, call):
                return

    def cancel(self, call: Call[Any]) -> None:
        """Take `call` back, or ask the gate to end it."""
        with self._state:
            waiting = call in self._waiting
            if waiting:
                self._waiting.remove(call)
            connection = self._connection
        if waiting or connection is None:
            call.fail(
                StatusCode.CANCELLED,
                Reason.CANCELLED,
                f"{call.ask.path}: cancelled before it was sent",
                Phase.SEND,
            )
            return
        try:
            connection.send(encode_cancel(call.id, self._read_token()), None)
        except (NotSentError, RpcError):
            return  # the call's own connection is gone, and the call with it

    def phase(self) -> Phase:
        """How far the attempt to connect has come."""
        return self._progress.phase

    def close(self) -> None:
        """End the connection; calls in flight fail."""
        with self._state:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close("the channel was closed")
        self.flush()

    def flush(self) -> None:
        """Write down the newest audit head seen."""
        if self._witness is not None:
            self._witness.flush()

    def _usable(self) -> Connection | None:
        connection = self._connection
        if connection is None or connection.dead:
            return None
        now_ms = self.clock.mono_ms()
        if now_ms - self._looked_ms >= _LOOK_AT_FILES_MS:
            self._looked_ms = now_ms
            if self._profile.changed():
                self._leave(connection)
                return None
        return connection

    def _leave(self, connection: Connection) -> None:
        """New calls go by a new connection, with the credentials as they are now."""
        with self._state:
            if self._connection is connection:
                self._connection, self._thread = None, None
        connection.retire()

    def _queue(self, call: Call[Any]) -> Connection | None:
        """Let `call` wait for a connection; if there is one after all, give that."""
        with self._state:
            connection = self._connection
            if connection is not None and not connection.dead:
                return connection
            self._waiting.append(call)
            if self._thread is not None:
                self._state.notify_all()
                return None
            self._thread = threading.Thread(
                target=self._run, name="warded", daemon=True
            )
            try:
                self._thread.start()
                return None
            except RuntimeError:  # the interpreter is going away
                self._thread = None
                self._waiting.remove(call)
        call.refuse(unreachable("the interpreter is exiting", Phase.CONNECT))
        return None

    def _try_send(self, connection: Connection, call: Call[Any]) -> bool:
        """False: the connection was dead; nothing was sent."""
        if call.done():
            return True
        timeout_ms = call.remaining_ms()
        if timeout_ms <= 0:
            call.expire(self.phase())
            return True
        call.id = make_call_id(self._gate_clock.now_ms())
        request = Request(
            call_id=call.id,
            attempt=call.attempt,
            method=call.ask.path,
            timeout_ms=timeout_ms,
            metadata=call.ask.metadata,
            payload=call.ask.payload,
        )
        try:
            connection.send(request.encode(self._read_token()), call)
        except NotSentError:
            return False
        except FrameTooLargeError as error:
            _refuse_size(call, error)
        except RpcError as error:
            call.refuse(error)
        return True

    def _read_token(self) -> str:
        return self._profile.token() if self._token is None else self._token

    def _on_answer(self, call: Call[Any], body: bytes) -> None:
        try:
            reply = decode_reply(body)
        except EnvelopeError as error:
            self._fail_strange(call, str(error))
            return
        self._gate_clock.learn(reply.now_ms)
        if self._witness is not None:
            self._witness.note(reply.head_seq, reply.head_hash)
        if reply.call_id not in (b"", call.id):
            self._fail_strange(call, "it answers another call")
        elif reply.code is StatusCode.OK:
            call.succeed(reply)
        elif reply.reason in _NEW_DATE and call.attempt == 0 and reply.now_ms:
            self._redate(call)
        else:
            self._refuse(call, reply)

    def _redate(self, call: Call[Any]) -> None:
        """The gate did not run it because of its date: once more, with a right one."""
        call.attempt += 1
        call.sent = False
        self.start(call)

    def _refuse(self, call: Call[Any], reply: Reply) -> None:
        call.reply = reply
        call.refuse(reply.error(call.call_id))

    def _fail_strange(self, call: Call[Any], why: str) -> None:
        call.fail(
            StatusCode.INTERNAL,
            Reason.BUG,
            f"{call.ask.path}: the answer can't be used: {why}",
            Phase.WAIT,
        )

    # --- the link's thread

    def _run(self) -> None:
        back_off_s = _BACK_OFF_FIRST_S
        while self._has_work():
            try:
                opened = open_first(self._profile.credentials(), self._progress)
            except RpcError as error:
                self._fail_waiting(error)
                self._pause(back_off_s)
                back_off_s = min(back_off_s * 2, _BACK_OFF_MOST_S)
                continue
            except Exception as error:
                self._fail_waiting(unreachable(f"{error!r}", self.phase()))
                raise
            back_off_s = _BACK_OFF_FIRST_S
            connection = Connection(opened, self._on_answer)
            self._adopt(connection)
            connection.serve()
            connection.release()

    def _has_work(self) -> bool:
        with self._state:
            if self._thread is not threading.current_thread():
                return False  # another one took over
            self._drop_late()
            if self._waiting:
                return True
            self._thread = None
            return False

    def _adopt(self, connection: Connection) -> None:
        if self._witness is None:
            self._witness = Witness(connection.gate.uri, self.clock)
        with self._state:
            self._connection = connection
            self._looked_ms = self.clock.mono_ms()
            waiting, self._waiting = self._waiting, []
        for call in waiting:
            if not self._try_send(connection, call):
                self.start(call)

    def _fail_waiting(self, error: RpcError) -> None:
        """Fail those who wait, but for those who want to wait for the gate."""
        stays = error.reason is Reason.UNREACHABLE
        with self._state:
            failed = [c for c in self._waiting if not (stays and c.ask.wait_for_ready)]
            self._waiting = [c for c in self._waiting if c not in failed]
        for call in failed:
            call.refuse(error)

    def _pause(self, seconds: float) -> None:
        """Back off, while all who wait are patient; a newcomer ends the pause."""
        with self._state:
            if self._waiting:
                self._state.wait(seconds * random.uniform(0.8, 1.2))  # noqa: S311

    def _drop_late(self) -> None:
        late = [c for c in self._waiting if c.done() or c.remaining_ms() <= 0]
        self._waiting = [c for c in self._waiting if c not in late]
        for call in late:
            call.expire(self.phase())


def _refuse_size(call: Call[Any], error: FrameTooLargeError) -> None:
    """End `call` as TOO_LARGE: it was not sent."""
    call.fail(
        StatusCode.RESOURCE_EXHAUSTED,
        Reason.TOO_LARGE,
        f"{call.ask.path}: {error}; not sent",
        Phase.SEND,
    )
