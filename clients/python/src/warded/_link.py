"""What one process keeps for one channel: its connection, and the calls that wait.

The link's thread opens a connection whenever calls wait for one, serves it until it
ends, and goes away when there is nothing to do. A refused attempt fails the calls that
were waiting, save those that asked to wait until the gate is ready.
"""

from __future__ import annotations

import random
import threading
from typing import Any

from warded._again import refuse_as, refuse_elsewhere, refuse_unsent, take_again
from warded._call import Call
from warded._callid import Clock, GateClock, SystemClock, make_call_id
from warded._connection import Connection, NotSentError
from warded._envelope import (
    EnvelopeError,
    Reply,
    decode_reply,
    encode_cancel,
)
from warded._open import Progress, open_first
from warded._refusals import as_rpc_error, refuse_size, refuse_strange, take_back
from warded._renew import NEW_TOKEN, Renewal, ask_renewal
from warded._request import encode
from warded._wire import FrameTooLargeError
from warded._witness import Witness
from warded.errors import RpcError, unreachable
from warded.profile import Profile
from warded.status import Phase, Reason, StatusCode

_NEW_DATE = frozenset({Reason.CLOCK_SKEW, Reason.CALL_ID_EXPIRED})
_BACK_OFF_FIRST_S, _BACK_OFF_MOST_S = 0.05, 1.0
_LOOK_AT_FILES_MS = 1000
_TOKEN_AGE_MS = 10  # while many calls are in flight


class Link:
    """Threads: any."""

    def __init__(self, profile: Profile, token: str | None) -> None:
        self.clock: Clock = SystemClock()
        self._profile = profile
        self._token = token
        self._last_token = (-_TOKEN_AGE_MS, "")
        self._gate_clock = GateClock(self.clock)
        self._state = threading.Condition(threading.Lock())  # guards all below
        self._connection: Connection | None = None
        self._waiting: list[Call[Any]] = []
        self._thread: threading.Thread | None = None
        self._progress = Progress()
        self._witness: Witness | None = None
        self._looked_ms, self._closed = 0, False
        self._renewal = Renewal(
            profile.path, self._gate_clock, lambda: ask_renewal(self)
        )

    def start(self, call: Call[Any]) -> None:
        """Send `call`, now or once there is a connection; never blocks for long."""
        while True:
            now_ms = self.clock.mono_ms()
            connection = self._usable(now_ms)
            if connection is None:
                self._look_at_end()
                connection = self._queue(call)
                if connection is None:
                    return
            if self._try_send(connection, call, now_ms):
                return

    def cancel(self, call: Call[Any]) -> None:
        """Take `call` back, or ask the gate to end it."""
        with self._state:
            waiting = call in self._waiting
            if waiting:
                self._waiting.remove(call)
        if waiting:
            take_back(call)
        elif call.sent:
            self._send_cancel(call)
        # else it is being sent at this moment: `_try_send` looks again afterwards

    def phase(self) -> Phase:
        """What a call that was not sent yet waits for: how far connecting has come."""
        connection = self._connection
        connected = connection is not None and connection.is_fit()
        return Phase.SEND if connected else self._progress.phase

    def close(self, *, at_once: bool = False) -> None:
        """End the connection when no call is in flight; `at_once`: these fail."""
        with self._state:
            self._closed = True
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.retire()
        if connection is not None and at_once:
            connection.close("the interpreter is exiting")
        if self._witness is not None:
            self._witness.flush()

    def _usable(self, now_ms: int) -> Connection | None:
        connection = self._connection
        if connection is None or connection.dead:
            return None
        if connection.retired:
            self._leave(connection)
            return None
        if now_ms - self._looked_ms >= _LOOK_AT_FILES_MS:
            self._looked_ms = now_ms
            self._look_at_end()
            if self._profile.changed():
                self._leave(connection)
                return None
        return connection

    def _look_at_end(self) -> None:
        if self._token is None:
            self._renewal.look()

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
            if connection is not None and connection.is_fit():
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
        refuse_unsent(call, unreachable("the interpreter is exiting", Phase.CONNECT))
        return None

    def _try_send(self, connection: Connection, call: Call[Any], now_ms: int) -> bool:
        """False: the connection was dead; nothing was sent."""
        if call.cancel_asked:
            take_back(call)
        elif call.deadline_ms <= now_ms:
            call.expire()
        elif call.lost_by and call.route != connection.route:
            refuse_elsewhere(call)
        if call.done():
            return True
        if not call.lost_by:
            call.id = make_call_id(self._gate_clock.at(now_ms))
            call.route = connection.route
        call.carrier = connection
        try:
            call.token = self._read_token(now_ms, may_be_old=connection.is_busy)
            connection.send(encode(call, call.deadline_ms - now_ms), call)
            if call.cancel_asked:
                self._send_cancel(call)
        except NotSentError:
            return False
        except FrameTooLargeError as error:
            refuse_size(call, error)
        except RpcError as error:
            refuse_unsent(call, error)
        return True

    def _send_cancel(self, call: Call[Any]) -> None:
        """Once: who cancels and who has just sent the call may both come here."""
        with self._state:
            if call.cancel_sent or call.carrier is None:
                return
            call.cancel_sent = True
        try:
            token = self._read_token(self.clock.mono_ms())
            call.carrier.send(encode_cancel(call.id, token), None)
        except (NotSentError, RpcError):
            return  # the call's connection is gone, and the call with it

    def _read_token(self, now_ms: int, *, may_be_old: bool = False) -> str:
        """The token; `may_be_old`: as it was a moment ago will do."""
        if self._token is not None:
            return self._token
        read_ms, token = self._last_token
        if not may_be_old or now_ms - read_ms >= _TOKEN_AGE_MS:
            token = self._profile.token()
            self._last_token = (now_ms, token)
        return token

    def _on_answer(self, call: Call[Any], body: bytes) -> None:
        try:
            reply = decode_reply(body)
        except EnvelopeError as error:
            refuse_strange(call, str(error))
            return
        self._gate_clock.learn(reply.now_ms)
        if self._witness is not None:
            self._witness.note(reply.head_seq, reply.head_hash)
        if reply.call_id not in (b"", call.id):
            refuse_strange(call, "it answers another call")
        elif reply.code is StatusCode.OK:
            call.succeed(reply)
        elif call.attempt == 0 and self._may_pass_now(call, reply):
            call.attempt, call.sent = 1, False
            self.start(call)
        else:
            refuse_as(call, reply)

    def _may_pass_now(self, call: Call[Any], reply: Reply) -> bool:
        """It was not run because of its date, or of a token that was replaced."""
        if reply.reason not in NEW_TOKEN:
            return reply.reason in _NEW_DATE and reply.now_ms > 0
        try:
            return self._read_token(self.clock.mono_ms()) != call.token
        except RpcError:
            return False

    def _on_lost(self, call: Call[Any], why: str, sent: bool) -> None:
        if take_again(call, why, sent=sent, closed=self._closed):
            self.start(call)

    # --- the link's thread

    def _run(self) -> None:
        back_off_s = _BACK_OFF_FIRST_S
        while self._has_work():
            try:
                opened = open_first(self._profile.credentials(), self._progress)
            except Exception as error:
                self._fail_waiting(as_rpc_error(error))
                self._pause(back_off_s)
                back_off_s = min(back_off_s * 2, _BACK_OFF_MOST_S)
                continue
            back_off_s = _BACK_OFF_FIRST_S
            self._serve(Connection(opened, self._on_answer, self._on_lost))

    def _serve(self, connection: Connection) -> None:
        try:
            self._adopt(connection)
            connection.serve()
        except Exception as error:  # a bug; the calls must hear of it all the same
            connection.close(f"a bug in the client: {error!r}")
            self._fail_waiting(as_rpc_error(error))
        finally:
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
            self._witness = Witness(connection.chain, self.clock)
        with self._state:
            self._connection = None if self._closed else connection
            self._looked_ms = self.clock.mono_ms()
            waiting, self._waiting = self._waiting, []
            closed = self._closed
        for call in waiting:
            if not self._try_send(connection, call, self.clock.mono_ms()):
                self.start(call)
        if closed:
            connection.retire()

    def _fail_waiting(self, error: RpcError) -> None:
        """Fail those who wait, but for those who want to wait for the gate."""
        stays = error.reason is Reason.UNREACHABLE
        with self._state:
            failed = [c for c in self._waiting if not (stays and c.ask.wait_for_ready)]
            self._waiting = [c for c in self._waiting if c not in failed]
        for call in failed:
            refuse_unsent(call, error)

    def _pause(self, seconds: float) -> None:
        """Back off, while all who wait are patient; a newcomer ends the pause."""
        with self._state:
            if self._waiting:
                self._state.wait(seconds * random.uniform(0.8, 1.2))  # noqa: S311  # no secret

    def _drop_late(self) -> None:
        late = [c for c in self._waiting if c.done() or c.remaining_ms() <= 0]
        self._waiting = [c for c in self._waiting if c not in late]
        for call in late:
            call.expire()
