"""Runs one program of the tests: its output kept, its whole group ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.runner.model import ROOT

# Bytes of output kept of one program; the rest of a flood is cut out of its middle.
KEEP_CHARS = 200_000

Watcher = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Done:
    """How a program ended. A negative code is the signal that ended it."""

    code: int
    output: str
    seconds: float
    timed_out: bool

    @property
    def how(self) -> str:
        """The end in words."""
        if self.timed_out:
            return f"did not end within {self.seconds:.0f} s and was killed"
        if self.code < 0:
            return f"was ended by {signal.Signals(-self.code).name}"
        return f"ended with status {self.code}"


def _end_group(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _cut(text: str) -> str:
    if len(text) <= KEEP_CHARS:
        return text
    half = KEEP_CHARS // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters ...]\n{text[-half:]}"


def run(
    command: Sequence[str | Path],
    *,
    timeout_s: float = 600,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    watch: Watcher = lambda line: None,
    pass_fds: Sequence[int] = (),
) -> Done:
    """Run `command` in a session of its own; `watch` sees each line as it comes."""
    start = time.monotonic()
    expired = threading.Event()
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        pass_fds=pass_fds,
    )

    def expire() -> None:
        expired.set()
        _end_group(process)

    timer = threading.Timer(timeout_s, expire)
    timer.start()
    lines: list[str] = []
    reader = threading.Thread(target=_read, args=(process, lines, watch), daemon=True)
    reader.start()
    code = process.wait()
    timer.cancel()
    _end_group(process)  # what it left behind would hold the pipe
    reader.join(5)
    seconds = time.monotonic() - start
    return Done(code, _cut("".join(lines)), seconds, expired.is_set())


def _read(process: subprocess.Popen[str], lines: list[str], watch: Watcher) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        watch(line.rstrip())
