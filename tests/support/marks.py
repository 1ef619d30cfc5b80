"""Counts, from outside, how often each action was run.

An action reads a file of its own, which a slot shows as one of its roots; the kernel
tells whoever watches the folder of each reading. What the gate, its executor and its
record believe has no part in it.

The watch is fanotify's, which keeps the readings of two processes apart. (inotify makes
one event of two that are alike and neighbours, and so of an action that two slots run.)

Example:
    with Marks() as marks:
        config = f"sandbox:\\n  roots: [/usr, {marks.folder}]\\n"
        name, action = marks.action("print(1)")
        ...
        assert marks.counts()[name] == 1
"""

from __future__ import annotations

import collections
import ctypes
import itertools
import os
import select
import shutil
import struct
import tempfile
import threading
from pathlib import Path
from types import TracebackType

ACCESS = 0x1  # FAN_ACCESS
ON_CHILD = 0x08000000  # FAN_EVENT_ON_CHILD: of the files in the folder
OVERFLOW = 0x4000  # FAN_Q_OVERFLOW
CLOEXEC, UNLIMITED = 0x1, 0x10  # FAN_CLOEXEC, FAN_UNLIMITED_QUEUE
ADD, HERE = 0x1, -100  # FAN_MARK_ADD, AT_FDCWD
EVENT = struct.Struct("=IBBHQii")  # its size first; in the end descriptor and pid
READING = "import os\nos.read(os.open({path!r}, os.O_RDONLY), 1)\n"


class Marks:
    """A folder of files, and how often each was read."""

    def __init__(self) -> None:
        # Not below /tmp, of which a slot has its own.
        self.folder = Path(tempfile.mkdtemp(prefix="warded-marks-", dir="/srv"))
        self.folder.chmod(0o755)
        self._names = itertools.count()
        self._counts: collections.Counter[str] = collections.Counter()
        self._lost = False
        self._watch = _watch(self.folder)
        self._stop, self._stopping = os.pipe()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def __enter__(self) -> Marks:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._stopping)
        self._thread.join()
        os.close(self._watch)
        os.close(self._stop)
        shutil.rmtree(self.folder, ignore_errors=True)

    def action(self, code: str) -> tuple[str, str]:
        """Code that leaves a mark first, and the name of the mark."""
        name = f"{next(self._names)}"
        path = self.folder / name
        path.write_text("x")
        path.chmod(0o644)
        return name, READING.format(path=str(path)) + code

    def counts(self) -> dict[str, int]:
        """How often each was read, up to now."""
        with (self.folder / "last").open("w+") as last:  # whoever is heard last
            last.write("x")
            last.flush()
            os.pread(last.fileno(), 1, 0)
        while not self._counts["last"]:
            select.select([], [], [], 0.01)
        del self._counts["last"]
        assert not self._lost, "more readings than the kernel kept"
        return dict(self._counts)

    def _listen(self) -> None:
        while self._stop not in select.select([self._watch, self._stop], [], [])[0]:
            data = os.read(self._watch, 65536)
            while data:
                size, _, _, _, mask, fd, _ = EVENT.unpack_from(data)
                data = data[size:]
                self._lost = self._lost or bool(mask & OVERFLOW)
                if fd >= 0:
                    name = Path(f"/proc/self/fd/{fd}").readlink().name
                    os.close(fd)
                    self._counts[name] += bool(mask & ACCESS)


def _watch(folder: Path) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    fd: int = libc.fanotify_init(CLOEXEC | UNLIMITED, os.O_RDONLY | os.O_CLOEXEC)
    mask = ctypes.c_uint64(ACCESS | ON_CHILD)
    if fd < 0 or libc.fanotify_mark(fd, ADD, mask, HERE, bytes(folder)) < 0:
        raise OSError(ctypes.get_errno(), f"fanotify: {folder}")
    return fd
