"""The audit heads that this process saw, kept for `tokctl audit verify --witness`.

A line `SEQ HEXHASH` at most once a second, a file per process, bounded; under
$XDG_STATE_HOME/warded/heads/CHAIN/. Replies do not name their chain, so CHAIN is made
of the gate's URI and the CA's digest: a gate set up anew has both a new CA and a
new chain. A witness that can't be kept never fails a call: a process that has neither
$XDG_STATE_HOME nor a home keeps none.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from pathlib import Path

from warded._callid import Clock

_PERIOD_MS = 1000
_FILE_BYTES = 256 << 10
_FILES = 64


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
        with path.open("a") as file:
            file.write(line)


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


def _halve(path: Path) -> None:
    """Keep the first head and the newer half of the rest."""
    lines = path.read_text().splitlines(keepends=True)
    kept = lines[:1] + lines[len(lines) // 2 :]
    fresh = path.with_suffix(".tmp")
    fresh.write_text("".join(kept))
    fresh.replace(path)
