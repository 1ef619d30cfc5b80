"""A pipe that wakes a thread out of poll(2)."""

from __future__ import annotations

import contextlib
import os


class Wakeup:
    """Threads: `set` from any until `close`; the rest: the one that polls."""

    def __init__(self) -> None:
        self.fd, self._in = os.pipe()
        """Poll this for input."""
        os.set_blocking(self.fd, False)
        os.set_blocking(self._in, False)

    def set(self) -> None:
        """Make `fd` readable; a full pipe is as good."""
        with contextlib.suppress(OSError):
            os.write(self._in, b"\0")

    def clear(self) -> None:
        """Until the next `set`."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.fd, 4096)

    def close(self) -> None:
        """Close both ends."""
        for fd in (self.fd, self._in):
            with contextlib.suppress(OSError):
                os.close(fd)
