"""libwarded from Python: tests/support/rpc_caller.c at the end of a pipe."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.gate import program


@dataclass(frozen=True)
class Answer:
    """How one call ended."""

    reason: str  # "ok"
    phase: str = ""
    code: int = 0
    may_have_run: bool = False
    retry_after_ms: int = 0
    alert: int = 0
    call_id: str = ""
    message: str = ""
    cure: str = ""
    head_seq: int = 0
    now_ms: int = 0


def parse(line: str) -> Answer:
    """A line of rpc_caller."""
    if line.startswith("ok "):
        _, seq, now = line.split()
        return Answer("ok", head_seq=int(seq), now_ms=int(now))
    reason, phase, code, ran, retry, alert, call_id, rest = line.split(" ", 7)
    message, _, cure = rest.rstrip("\n").rpartition(" | ")
    return Answer(
        reason,
        phase,
        int(code),
        ran == "1",
        int(retry),
        int(alert),
        call_id,
        message,
        cure,
    )


class Caller:
    """One process with one channel."""

    def __init__(
        self, profile: Path | None, *, under: Sequence[str] = (), **env: str
    ) -> None:
        """`under`: a program and its words, by which it is run."""
        words = [] if profile is None else [str(profile)]
        self._process = subprocess.Popen(
            [*under, program("rpc_caller"), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env={**os.environ, **env},
        )

    def tell(self, command: str) -> None:
        """Give a command; do not wait."""
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")

    def line(self) -> str:
        """What it says next."""
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def do(self, command: str) -> str:
        """Give a command; the line that it answers."""
        self.tell(command)
        return self.line()

    def check(self, ms: int = 10_000) -> Answer:
        """One Health.Check."""
        return parse(self.do(f"check {ms}"))

    def end(self) -> int:
        """Close its input; its exit status."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        status = self._process.wait(30)
        self._process.stdout.close()
        return status


@contextlib.contextmanager
def calling(
    profile: Path | None, *, under: Sequence[str] = (), **env: str
) -> Iterator[Caller]:
    """A caller that must end well."""
    caller = Caller(profile, under=under, **env)
    try:
        yield caller
    finally:
        status = caller.end()
    assert status == 0
