"""A gate over a stub executor: tests/support/test_gate.c, on strings.

Example:
    with StubGate(home) as gate:
        ...calls...
        assert gate.count().running == 1
"""

from __future__ import annotations

import os
import re
import select
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from tests.support.gate import READY_S, GateError, Home, at_fault, program

LOOK_S = 0.02


@dataclass(frozen=True, slots=True)
class Counts:
    """What the executor has seen."""

    jobs: int
    running: int
    cancelled: int


class RefusedError(GateError):
    """The gate would not start; the message is its reason."""


class StubGate:
    """The gate alone, its executor a stub, its supervisor this test."""

    def __init__(
        self,
        home: Home,
        *,
        grace_ms: int = 0,
        silence_s: int = 0,
        ready_s: float = READY_S,
        wrap: Sequence[str] = (),
    ) -> None:
        """`ready_s`: how long a start may take; it reads the trail. `wrap`: a program
        and its arguments that execs the rest of the line."""
        self.home = home
        self._ready_s = ready_s
        self._wrap = wrap
        self.pid = 0
        self.ended = ""
        self._limits = (str(grace_ms), str(silence_s))
        self._log = home.path / "stub.log"
        self._heard = b""  # of its output, not yet a line
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> StubGate:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def log(self) -> str:
        """What the gate has said."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def start(self) -> None:
        """Start it, wait until it listens, tell the profiles where."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._wrap, program("test_gate"), self.home.path, *self._limits],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                bufsize=1,
            )
        self.ended = ""
        self._heard = b""
        line = self.line(self._ready_s)
        if not line.startswith("ready "):
            self.ended = self.line()
            raise RefusedError(line.removeprefix("refused "))
        self.pid = int(line.split()[1])
        self.home.dial(self.address)

    @property
    def address(self) -> str:
        """Where it listens."""
        return (self.home.path / "run/address").read_text().strip()

    def line(self, patience_s: float = READY_S) -> str:
        """The next line that it says."""
        assert self._process is not None
        assert self._process.stdout is not None
        while b"\n" not in self._heard:
            ready, _, _ = select.select([self._process.stdout], [], [], patience_s)
            if not ready:
                raise GateError(
                    f"test_gate said nothing for {patience_s} s\n{self.log}"
                )
            piece = os.read(self._process.stdout.fileno(), 4096)
            if not piece:
                raise GateError(f"test_gate has ended\n{self.log}")
            self._heard += piece
        line, _, self._heard = self._heard.partition(b"\n")
        return line.decode().strip()

    def do(self, command: str) -> str:
        """Give a command; its answer."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")
        return self.line()

    def count(self) -> Counts:
        """What the executor has seen."""
        found = re.fullmatch(
            r"jobs=(\d+) running=(\d+) cancelled=(\d+)", self.do("count")
        )
        assert found is not None
        return Counts(*map(int, found.groups()))

    def wait_for(
        self, *, running: int | None = None, cancelled: int | None = None
    ) -> Counts:
        """Look until the executor has seen as many."""
        end = time.monotonic() + READY_S
        while time.monotonic() < end:
            now = self.count()
            if (running is None or now.running == running) and (
                cancelled is None or now.cancelled == cancelled
            ):
                return now
            select.select([], [], [], LOOK_S)
        raise GateError(
            f"waited for {running=} {cancelled=}: {self.count()}\n{self.log}"
        )

    def threads(self) -> int:
        """How many the gate has."""
        return len(list(Path(f"/proc/{self.pid}/task").iterdir()))

    def stop(self) -> str:
        """Drain and stop; how it ended, "exit 0"."""
        self.do("stop")
        return self.wait_end()

    def wait_end(self) -> str:
        """How the gate ended: "exit N" or "signal N"."""
        self.ended = self.line()
        return self.ended

    def close(self) -> None:
        """Stop it if it runs; a finding of a sanitizer is a failure."""
        if self._process is None:
            return
        if not self.ended:
            self.stop()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(READY_S)
        self._process = None
        if at_fault(self.log):
            raise GateError(f"a sanitizer found fault\n{self.log}")
