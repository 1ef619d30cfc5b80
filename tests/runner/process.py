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

# What runs now, in all lanes; and whether all is to end.
_running: set[subprocess.Popen[str]] = set()
_ending = threading.Event()


class EndingError(Exception):
    """The run is being ended: no program is started any more."""


@dataclass(frozen=True, slots=True)
class Done:
    """How a program ended. A negative code is the signal that ended it."""

    code: int
    output: str
    seconds: float
    timed_out: bool
    cpu_s: float = 0.0

    @property
    def how(self) -> str:
        """The end in words."""
        if self.timed_out:
            return f"did not end within {self.seconds:.0f} s and was killed"
        if self.code < 0:
            return f"was ended by {signal.Signals(-self.code).name}"
        return f"ended with status {self.code}"


def end_all(how: signal.Signals) -> None:
    """Send it to every program that runs; from now on none is started."""
    _ending.set()
    for process in list(_running):
        _end_group(process, how)


def _end_group(
    process: subprocess.Popen[str], how: signal.Signals = signal.SIGKILL
) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, how)


def _wait(process: subprocess.Popen[str]) -> float:
    """Wait for its end; the seconds of processors that it has had."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime


def _cut(text: str) -> str:
    if len(text) <= KEEP_CHARS:
        return text
    half = KEEP_CHARS // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters ...]\n{text[-half:]}"


def _start(
    command: Sequence[str | Path], cwd: Path, env: dict[str, str], fds: Sequence[int]
) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        pass_fds=fds,
    )
    _running.add(process)
    return process


def run(
    command: Sequence[str | Path],
    *,
    timeout_s: float = 600,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    watch: Watcher = lambda line: None,
    pass_fds: Sequence[int] = (),
) -> Done:
    """Run `command` in a session of its own; `watch` sees each line as it comes.

    Raises EndingError when all is to end.
    """
    if _ending.is_set():
        raise EndingError
    start = time.monotonic()
    expired = threading.Event()
    process = _start(command, cwd, {**os.environ, **(env or {})}, pass_fds)

    def expire() -> None:
        expired.set()
        _end_group(process)

    timer = threading.Timer(timeout_s, expire)
    timer.start()
    lines: list[str] = []
    reader = threading.Thread(target=_read, args=(process, lines, watch), daemon=True)
    reader.start()
    cpu_s = _wait(process)
    timer.cancel()
    _end_group(process)  # what it left behind would hold the pipe
    _running.discard(process)
    reader.join(5)
    if _ending.is_set():
        raise EndingError
    seconds, said = time.monotonic() - start, _cut("".join(lines))
    return Done(process.returncode, said, seconds, expired.is_set(), cpu_s)


def _read(process: subprocess.Popen[str], lines: list[str], watch: Watcher) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        watch(line.rstrip())
