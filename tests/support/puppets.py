"""A supervisor over two puppets, for tests that pull their strings.

See supervise.c, which is the supervisor, and fake_child.py, which is a puppet.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.gate import program

PATIENCE_S = 20.0
CHILD = Path(__file__).with_name("fake_child.py")


class Puppet:
    """One child of the supervisor, at the end of a string."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(PATIENCE_S)
        self._file = connection.makefile("rw")
        self.name, pid = self._file.readline().split()
        self.pid = int(pid)

    def order(self, text: str) -> None:
        """Tell without waiting for an answer."""
        self._file.write(text + "\n")
        self._file.flush()

    def ask(self, text: str) -> str:
        """Tell, and wait for the answer; "" when the puppet is gone."""
        self.order(text)
        return self._file.readline().rstrip("\n")

    def dead(self) -> bool:
        """Kill it, and wait until the kernel says that it is dead."""
        pidfd = os.pidfd_open(self.pid)
        os.kill(self.pid, signal.SIGKILL)
        ready, _, _ = select.select([pidfd], [], [], PATIENCE_S)
        os.close(pidfd)
        return bool(ready)

    def gone(self) -> bool:
        """Wait until the puppet is no more."""
        try:
            return self._file.read() == ""
        except ConnectionResetError:
            return True


class Stage:
    """A supervisor, its run folder, and the socket where its children report."""

    def __init__(self, folder: Path, *, lock: str = "", dead_ms: int = 500) -> None:
        """`lock`: what it finds in its run folder. `dead_ms`: wd_supervisor_options."""
        self.run_dir = folder / "run"
        self.run_dir.mkdir()
        (self.run_dir / "lock").write_text(lock)
        self._held: list[Puppet] = []  # a puppet whose string is dropped ends
        self._log = folder / "log"
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(folder / "strings"))
        self._listener.listen(8)
        self._listener.settimeout(PATIENCE_S)
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.manager.bind(str(folder / "notify"))
        self.manager.settimeout(PATIENCE_S)
        command = [program("wd_supervise"), self.run_dir, folder / "strings"]
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                [*map(str, command), sys.executable, str(CHILD), str(dead_ms)],
                stderr=log,
                env={**os.environ, "NOTIFY_SOCKET": str(folder / "notify")},
            )

    def child(self, name: str) -> Puppet:
        """The next child that reports; it must be this one."""
        connection, _ = self._listener.accept()
        puppet = Puppet(connection)
        self._held.append(puppet)
        assert puppet.name == name
        return puppet

    def no_child(self, wait_s: float) -> None:
        """Nobody may report for so long."""
        self._listener.settimeout(wait_s)
        with pytest.raises(TimeoutError):
            self._listener.accept()
        self._listener.settimeout(PATIENCE_S)

    def both(self) -> tuple[Puppet, Puppet]:
        """Execd and gate, ready and linked."""
        execd = self.child("execd")
        assert execd.ask("say R") == "said"
        gate = self.child("gate")
        assert gate.ask("say R") == "said"
        assert execd.ask("hear") == "X"
        assert gate.ask("hear") == "X"
        return execd, gate

    def health(self) -> dict[str, str]:
        """What the ctl socket says."""
        with socket.socket(socket.AF_UNIX) as asker:
            asker.connect(str(self.run_dir / "ctl.sock"))
            lines = asker.makefile().read().splitlines()
        return dict(line.split("=", 1) for line in lines)

    def log(self) -> str:
        """What the supervisor wrote so far."""
        return self._log.read_text()

    def wait(self) -> int:
        """Its exit status."""
        return self.process.wait(PATIENCE_S)

    def close(self) -> None:
        """End what the test left."""
        self.process.kill()
        self.process.wait()
        self._listener.close()
        self.manager.close()
