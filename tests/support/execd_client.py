"""Drives warded-execd directly: a supervisor's control socket and a gate's job socket.

with Execd(home) as execd:
    execd.wait_ready()
    jobs = execd.connect()
    done = jobs.run("print(1)")
    assert done.stdout == b"1\n" and done.code == 0

A finding of a sanitizer is a failure, at the end of the block.
"""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from tests.support.gate import FINDING
from tests.support.jobs import ANSWER_S, ROOT, Jobs

BUILD = Path(os.environ.get("WARDED_BUILD", ROOT / "build" / "asan"))

# Not the default: another executor may run on this machine. SHARED_BASE is that of the
# executor which all tests share, beside which others run.
UID_BASE = 1879100000 + os.getpid() % 10000 * 64
SHARED_BASE = UID_BASE + 16

CONFIG = """\
sandbox:
  slots: {slots}
  uid_base: {uid_base}
{more}
tools:
  - name: python_code
    kind: python_code
"""


def write_home(
    home: Path, *, slots: int = 2, more: str = "", uid_base: int = UID_BASE
) -> Path:
    """A home with a configuration; `more`: further lines below `sandbox:`."""
    (home / "run").mkdir(parents=True, exist_ok=True)
    text = CONFIG.format(slots=slots, uid_base=uid_base, more=more)
    (home / "warded.yaml").write_text(text)
    return home


class Execd:
    """A warded-execd of our own, and the supervisor's end of its control socket."""

    def __init__(
        self,
        home: Path,
        *,
        wrap: tuple[str, ...] = (),
        options: tuple[str, ...] = (),
        env: Mapping[str, str] | None = None,
        programs: Path = BUILD / "bin",
    ) -> None:
        """`wrap`: a program and its arguments that execs the rest of the line."""
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.settimeout(ANSWER_S)
        fd = theirs.fileno()
        command = [*wrap, str(programs / "warded-execd"), "--home", str(home)]
        script = f'exec "$@" 3<&{fd} {fd}<&-' if fd != 3 else 'exec "$@"'
        self.log = home / "execd.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                ["/bin/bash", "-c", script, "bash", *command, *options],
                pass_fds=(fd,),
                stdin=subprocess.DEVNULL,
                stderr=log,
                env={"PATH": "/usr/bin:/bin", **(env or {})},
            )
        theirs.close()

    @property
    def pid(self) -> int:
        """The executor's process id."""
        return self.process.pid

    def wait_ready(self) -> None:
        """Wait for 'R'; raises with the executor's own words when it refuses."""
        message = self.receive()
        assert message == b"R", message.decode(errors="replace")

    def wait_refused(self) -> str:
        """Wait for 'F'; its text. The exit status is then 78."""
        message = self.receive()
        assert message[:1] == b"F", message
        status = self.process.wait(ANSWER_S)
        assert status == 78, self.log.read_text(errors="replace")
        return message[1:].decode()

    def receive(self) -> bytes:
        """The next control message."""
        return self.control.recv(4096)

    def connect(self) -> Jobs:
        """A fresh job socket ('X'), past its Ready."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        socket.send_fds(self.control, [b"X"], [theirs.fileno()])
        theirs.close()
        return Jobs(ours)

    def stop(self) -> int:
        """Say 'S'; the exit status."""
        if self.process.poll() is None:
            self.control.send(b"S")
        return self.process.wait(ANSWER_S)

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        self.process.wait(ANSWER_S)

    def __enter__(self) -> Execd:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.control.close()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
        self.control.close()
        said = self.log.read_text(errors="replace")
        assert kind is not None or not FINDING.search(said), said
