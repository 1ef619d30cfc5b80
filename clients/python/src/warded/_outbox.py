"""What waits to be sent: gathered frames, and records that the kernel did not take."""

from __future__ import annotations

import socket
from collections import deque

from warded._tls import Tls


class Outbox:
    """Threads: one at a time; the connection's lock."""

    def __init__(self, tls: Tls, raw: socket.socket) -> None:
        self._tls = tls
        self._raw = raw
        self._gathered: dict[int, bytes] = {}  # frames by request id
        self._records: deque[tuple[tuple[int, ...], memoryview]] = deque()

    @property
    def has_gathered(self) -> bool:
        """Whether a frame waits for `flush`."""
        return bool(self._gathered)

    @property
    def is_stuck(self) -> bool:
        """Whether the kernel has to take more first."""
        return bool(self._records)

    def add(self, request_id: int, frame: bytes) -> bool:
        """Gather a frame; whether it is the first of what waits."""
        first = not self._gathered and not self._records
        self._gathered[request_id] = frame
        return first

    def flush(self) -> str:
        """Send what the kernel takes; why the connection is dead, or nothing."""
        if self._gathered:
            frames, self._gathered = self._gathered, {}
            data = self._tls.encrypt(b"".join(frames.values()))
            self._records.append((tuple(frames), memoryview(data)))
        while self._records:
            request_ids, view = self._records[0]
            try:
                count = self._raw.send(view)
            except (BlockingIOError, InterruptedError):
                return ""
            except OSError as error:
                return error.strerror or str(error)
            if count < len(view):
                self._records[0] = (request_ids, view[count:])
                return ""
            self._records.popleft()
        return ""

    def drop(self) -> set[int]:
        """Forget everything; the requests of which not every byte was sent."""
        unsent = {one for ids, _ in self._records for one in ids}
        unsent.update(self._gathered)
        self._records.clear()
        self._gathered.clear()
        return unsent
