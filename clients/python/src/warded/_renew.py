"""Renewal: a profile with a file `expires` keeps its token alive by itself.

    expires    `FROM UNTIL`, Unix milliseconds: since when the token has been good for,
               and until when

At two thirds of that span the token is renewed, as long as its gate allows it (never
wider, at most 30 days in all), and `expires` is written again. The secret stays. Many
processes share a profile: whoever comes first renews, the others read what it wrote.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from warded._call import Ask, Call, Keeper
from warded._callid import Clock, GateClock
from warded._files import read_file
from warded.errors import RpcError
from warded.status import Reason

NEW_TOKEN = frozenset(
    {Reason.TOKEN_RETIRED, Reason.TOKEN_REVOKED, Reason.TOKEN_EXPIRED}
)
"""What may be over by the time: another token may be in the file."""

_NAME = "expires"
_METHOD, _TIMEOUT_MS = "/warded.v1.Token/Renew", 10_000
_MOST_BYTES = 64
_LOOK_AGAIN_MS = 60_000
_SPREAD = 0.05  # of the span, before two thirds: not all processes at once
_NEVER = frozenset({Reason.SCOPE_MISSING, Reason.METHOD_UNKNOWN, Reason.NOT_BUILT})

_log = logging.getLogger("warded")
_random = random.Random()  # noqa: S311  # spreads the load, hides nothing
os.register_at_fork(after_in_child=_random.seed)


class Starter(Keeper, Protocol):
    """Who starts calls: a link."""

    clock: Clock


@dataclass(frozen=True, slots=True)
class Span:
    """Since when a token is good, and until when; Unix milliseconds of the gate."""

    from_ms: int
    until_ms: int

    def part_ms(self, part: float) -> int:
        """The moment at which so much of it is over."""
        return self.from_ms + int((self.until_ms - self.from_ms) * part)


class Renewal:
    """Watches one profile's `expires`.

    `renew` asks the gate and returns the new end; Raises RpcError.
    Threads: any.
    """

    def __init__(
        self, folder: Path, clock: GateClock, renew: Callable[[], int]
    ) -> None:
        self._path = folder / _NAME
        self._clock = clock
        self._renew = renew
        self._due_ms = 0
        self._busy = threading.Lock()
        self._watched = False

    def look(self) -> None:
        """Renew if it is time to; asked every second of calls: it must cost little."""
        if self._clock.now_ms() >= self._due_ms and self._busy.acquire(blocking=False):
            try:
                self._look()
            finally:
                self._busy.release()

    def _look(self) -> None:
        span = self._read()
        now_ms = self._clock.now_ms()
        if span is None:
            self._due_ms = now_ms + _LOOK_AGAIN_MS
            return
        self._due_ms = span.part_ms(2 / 3 - _random.random() * _SPREAD)
        if now_ms >= self._due_ms:
            self._due_ms = now_ms + _LOOK_AGAIN_MS  # while it is being asked
            threading.Thread(
                target=self._ask, args=(span,), name="warded-renew", daemon=True
            ).start()
        elif not self._watched:
            self._watched = True
            threading.Thread(
                target=self._watch, name="warded-expires", daemon=True
            ).start()

    def _watch(self) -> None:
        """A program that makes no calls for long keeps its token all the same."""
        while self._path.exists():
            left_ms = self._due_ms - self._clock.now_ms()
            threading.Event().wait(max(1.0, min(left_ms, _LOOK_AGAIN_MS) / 1000))
            self.look()
        self._watched = False

    def _ask(self, span: Span) -> None:
        now_ms = self._clock.now_ms()
        try:
            until_ms = self._renew()
        except RpcError as error:
            self._put_off(span, error)
            return
        if until_ms <= span.until_ms:
            _log.warning("the token ends at %d ms and can't be renewed", until_ms)
            self._due_ms = until_ms
            return
        renewed = Span(now_ms, until_ms)
        wrote = self._write(renewed)
        self._due_ms = (
            0 if wrote else renewed.part_ms(2 / 3)
        )  # 0: reads what was written

    def _put_off(self, span: Span, error: RpcError) -> None:
        now_ms = self._clock.now_ms()
        _log.warning(
            "the token, good until %d ms, was not renewed: %s", span.until_ms, error
        )
        left_ms = span.until_ms - now_ms
        again = left_ms if error.reason in _NEVER else left_ms // 10
        self._due_ms = now_ms + max(again, 1000)

    def _read(self) -> Span | None:
        try:
            text = read_file(str(self._path), _MOST_BYTES + 1)
            words = text.split() if len(text) <= _MOST_BYTES else []
            span = Span(int(words[0]), int(words[1]))
        except (OSError, ValueError, IndexError):
            return None
        return span if span.until_ms > span.from_ms else None

    def _write(self, span: Span) -> bool:
        """Whole or not at all. False: it can't be written, as a mounted Secret."""
        try:
            fd, name = tempfile.mkstemp(prefix=f".{_NAME}.", dir=self._path.parent)
        except OSError:
            return False
        try:
            with os.fdopen(fd, "w", encoding="ascii") as file:
                file.write(f"{span.from_ms} {span.until_ms}\n")
            os.replace(name, self._path)  # noqa: PTH105  # both are texts
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(name)  # noqa: PTH108  # a text
            return False
        return True


def ask_renewal(keeper: Starter) -> int:
    """Have the gate renew the token; its new end, Unix ms. Raises RpcError."""
    from warded.v1 import token_wd as _pb  # noqa: PLC0415  # only who renews needs it

    ask = Ask(_METHOD, b"", _pb.RenewReply.FromString, _TIMEOUT_MS, {}, False)
    call: Call[Any] = Call(ask, keeper, keeper.clock)
    keeper.start(call)
    return int(call.result().info.expires_ms)
