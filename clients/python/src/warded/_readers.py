"""Who reads a connection: a caller that waits alone, or else the connection's thread.

A caller that reads for itself needs no other thread to be woken, twice for each call.
So the connection's thread stays aside while callers read, and comes back when they stop
to, or when several wait: then it reads for all of them.
"""

from __future__ import annotations

import threading
from typing import Any

from warded._call import Call

_ASIDE_S = 0.002
"""How long the thread stays aside after a caller has stopped to read."""


class Readers:
    """Threads: each method says which; the lock is the connection's."""

    def __init__(self, lock: threading.Lock) -> None:
        self.caller_reads = False
        self.is_aside = False
        """The thread looks again within _ASIDE_S, or when the caller stops to read."""
        self.handing_out = 0
        """Threads that give answers to their calls just now; with the lock held."""
        self.waiting: set[Call[Any]] = set()
        """Calls whose callers wait. Changed without the lock."""
        self._lock = lock
        self._turns = 0  # of callers
        self._seen = 0  # of these, by the connection's thread
        self._is_patient = False  # that waits for as long as one caller reads
        self._come_back = threading.Event()

    def begin(self) -> bool:
        """With the lock held: whether the caller that asks has to read."""
        # an answer that is being handed out makes no socket readable
        if len(self.waiting) > 1 or self.caller_reads or self.handing_out:
            return False
        self.caller_reads = True
        self._turns += 1
        return True

    def end(self) -> None:
        """The caller has its answer; those of others must not go unread."""
        with self._lock:
            self.caller_reads = False
        if self.waiting or self._is_patient:
            self._come_back.set()

    def call_back(self) -> None:
        """Any thread: the connection's thread has something to do."""
        self._come_back.set()

    def are_at_it(self) -> bool:
        """The connection's thread: whether callers have read since it last looked."""
        return self.caller_reads or self._seen != self._turns

    def stay_aside(self, left_ms: int | None) -> None:
        """The connection's thread: until callers have stopped, or for `left_ms`."""
        self.is_aside = True
        self._come_back.clear()
        self._is_patient = self.caller_reads and self._seen == self._turns
        self._seen = self._turns
        if self._is_patient and self.caller_reads:
            self._come_back.wait(None if left_ms is None else left_ms / 1000)
        elif self.caller_reads or not self.waiting:
            self._come_back.wait(_ASIDE_S)
        self.is_aside = self._is_patient = False
