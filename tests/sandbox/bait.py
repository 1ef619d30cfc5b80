"""What a payload must not reach: sockets, a process, a secret, all on the host."""

from __future__ import annotations

import secrets
import socket
import subprocess
from pathlib import Path


class Bait:
    """Listeners that must never accept, and a process that must stay alive."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.first, self.second = secrets.token_hex(12), secrets.token_hex(12)
        self.abstract = f"warded-test-{secrets.token_hex(4)}"
        self.secret = folder / "secret"
        self.secret.write_text(self.word)
        self.secret.chmod(0o600)
        self.socket = folder / "bait.sock"
        self._tcp = _listen(socket.AF_INET, ("127.0.0.1", 0))
        self._unix = _listen(socket.AF_UNIX, str(self.socket))
        self._abstract = _listen(socket.AF_UNIX, f"\0{self.abstract}")
        self.socket.chmod(0o777)
        folder.chmod(0o755)
        self.process = subprocess.Popen(
            ["/bin/cat"], stdin=subprocess.PIPE, env={"WARDED_TOKEN": self.word}
        )

    @property
    def word(self) -> str:
        """The secret."""
        return self.first + self.second

    @property
    def port(self) -> int:
        """Of the TCP listener."""
        port: int = self._tcp.getsockname()[1]
        return port

    def fill(self, code: str, execd_pid: int) -> str:
        """Put the bait's names into a payload's code."""
        names = {
            "$PORT": str(self.port),
            "$SOCKET": str(self.socket),
            "$ABSTRACT": self.abstract,
            "$SECRET": str(self.secret),
            "$PID": str(self.process.pid),
            "$EXECD": str(execd_pid),
            "$FIRST": self.first,
            "$SECOND": self.second,
            "$HOME_DIR": str(self.folder),
        }
        for name, value in names.items():
            code = code.replace(name, value)
        return code

    def touched(self) -> list[str]:
        """What of it was reached; empty: nothing."""
        found = []
        for name in ("_tcp", "_unix", "_abstract"):
            try:
                getattr(self, name).accept()
                found.append(f"accepted on {name}")
            except BlockingIOError:
                pass
        if self.process.poll() is not None:
            found.append("the host's process is dead")
        if self.secret.read_text() != self.word:
            found.append("the secret was changed")
        names = sorted(path.name for path in self.folder.iterdir())
        if names != ["bait.sock", "secret"]:
            found.append(f"files were made: {names}")
        return found

    def close(self) -> None:
        """Take it in."""
        self.process.kill()
        self.process.communicate()
        for listener in (self._tcp, self._unix, self._abstract):
            listener.close()


def _listen(family: int, address: object) -> socket.socket:
    listener = socket.socket(family)
    listener.bind(address)  # type: ignore[arg-type,unused-ignore]  # of any family
    listener.listen()
    listener.setblocking(False)
    return listener
