"""Call ids: UUIDv7, dated by the gate's clock."""

from __future__ import annotations

import os
import random
import time
from typing import Protocol


class Clock(Protocol):
    """Both clocks, milliseconds. Tests bring their own."""

    def wall_ms(self) -> int:
        """Unix time."""

    def mono_ms(self) -> int:
        """Never set back; what deadlines count by."""


class SystemClock:
    """The host's clocks."""

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def mono_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000


class GateClock:
    """The gate's wall clock as its replies told it; ours until the first reply.

    Threads: any (one assignment of an int is atomic in CPython).
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead_ms: int | None = None  # gate's wall clock less our monotonic one
        self._learnt_ms = 0

    def learn(self, now_ms: int) -> None:
        """A reply said what time it is."""
        if now_ms > 0 and now_ms != self._learnt_ms:
            self._learnt_ms = now_ms
            self._ahead_ms = now_ms - self._clock.mono_ms()

    def now_ms(self) -> int:
        """Unix milliseconds at the gate."""
        return self.at(self._clock.mono_ms())

    def at(self, mono_ms: int) -> int:
        """Unix milliseconds at the gate, when our monotonic clock says `mono_ms`."""
        ahead = self._ahead_ms
        return self._clock.wall_ms() if ahead is None else ahead + mono_ms


_random = random.Random()  # noqa: S311  # seeded by the system; ids are no secrets
os.register_at_fork(after_in_child=_random.seed)


def make_call_id(now_ms: int) -> bytes:
    """A UUIDv7 of `now_ms`, 16 bytes: 48 bits of time, version, 74 random bits."""
    bits = _random.getrandbits(74)
    low = 0x8000_0000_0000_0000 | bits & 0x3FFF_FFFF_FFFF_FFFF
    return (now_ms << 80 | (0x7000 | bits >> 62) << 64 | low).to_bytes(16, "big")


def format_call_id(call_id: bytes) -> str:
    """The text of a UUID, as the audit trail has it."""
    text = call_id.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
