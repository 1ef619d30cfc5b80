"""The audit heads that this process saw, kept for `tokctl audit verify --witness`.

A line `SEQ HEXHASH` at most once a second, a file per process, bounded; under
$XDG_STATE_HOME/warded/heads/CHAIN/. Replies do not name their chain, so CHAIN is made
of the gate's URI and the CA's digest: a gate set up anew has both a new CA and a
new chain. A witness that can't be kept never fails a call: a process that has neither
$XDG_STATE_HOME nor a home keeps none.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat as stat_module
import threading
from pathlib import Path
from typing import BinaryIO

from warded._callid import Clock

_PERIOD_MS = 1000
_FILE_BYTES = 256 << 10
_FILES = 64
_LINE_BYTES = 128  # a head has at most 83


class Witness:
    """One process's notes about one gate's trail. Threads: any."""

    def __init__(self, chain: str, clock: Clock) -> None:
        heads = heads_folder()
        self._folder = None if heads is None else heads / chain
        self._clock = clock
        self._lock = threading.Lock()
        self._newest: tuple[int, bytes] = (0, b"")
        self._written_seq = 0
        self._next_ms = 0
        self._pid = 0

    def note(self, seq: int, digest: bytes) -> None:
        """A reply carried this head."""
        if self._folder is None or seq <= self._newest[0] or len(digest) != 32:
            return
        with self._lock:
            self._newest = max(self._newest, (seq, digest))
            due = self._clock.mono_ms() >= self._next_ms
        if due:
            self.flush()

    def flush(self) -> None:
        """Write the newest head down, if it is not there yet."""
        with self._lock:
            seq, digest = self._newest
            if self._folder is None or seq == self._written_seq:
                return
            self._written_seq = seq
            self._next_ms = self._clock.mono_ms() + _PERIOD_MS
            with contextlib.suppress(OSError):
                self._append(self._folder, f"{seq} {digest.hex()}\n")

    def _append(self, folder: Path, line: str) -> None:
        path = folder / f"{os.getpid()}.heads"
        if self._pid != os.getpid():
            self._pid = os.getpid()
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _drop_oldest(folder)
        if path.exists() and path.stat().st_size > _FILE_BYTES:
            _halve(path)
        with _open_regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT) as file:
            file.write(line.encode())


def heads_folder() -> Path | None:
    """$XDG_STATE_HOME/warded/heads, where the default is ~/.local/state. None: there is
    no home."""
    named = os.environ.get("XDG_STATE_HOME")
    try:
        base = Path(named) if named else Path.home() / ".local/state"
    except RuntimeError:
        return None
    return base / "warded/heads"


def _drop_oldest(folder: Path) -> None:
    files = [(p.stat().st_mtime_ns, p) for p in folder.glob("*.heads")]
    for _, path in sorted(files)[: max(0, len(files) - _FILES + 1)]:
        path.unlink(missing_ok=True)


def chain_name(gate_uri: str, trust: str) -> str:
    """One file name: "warded.local_ns_default_owner_me_gate_box.1f2e3d4c"."""
    name = re.sub(r"[^0-9A-Za-z.-]+", "_", gate_uri.removeprefix("spiffe://"))
    return f"{name.lstrip('.')[:200]}.{trust}"


def _open_regular(path: Path, flags: int) -> BinaryIO:
    """Never waits, as for a pipe of that name. Raises OSError."""
    fd = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    file = open(fd, "ab" if flags & os.O_APPEND else "rb")  # noqa: PTH123, SIM115  # a descriptor, given away
    if stat_module.S_ISREG(os.fstat(fd).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "no regular file", str(path))


def _halve(path: Path) -> None:
    """Keep the first head and the newer half of the rest, however large it is."""
    with _open_regular(path, os.O_RDONLY) as file:
        first = file.readline(_LINE_BYTES)
        file.seek(-_FILE_BYTES // 2, os.SEEK_END)
        file.readline(_LINE_BYTES)  # the end of a line
        newest = file.read(_FILE_BYTES // 2)
    fresh = path.with_suffix(".tmp")
    fresh.unlink(missing_ok=True)
    with fresh.open("xb") as file:
        file.write(first + newest)
    fresh.replace(path)
