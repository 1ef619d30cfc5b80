"""A relay between clients and a gate, that can be cut: connections end as networks do.

Example:
    with contextlib.closing(Relay(profile)) as relay:
        ...a client of the profile calls...
        relay.cut()
"""

from __future__ import annotations

import contextlib
import socket
import threading
from pathlib import Path


class Relay:
    """Stands between a profile and its gate."""

    def __init__(self, profile: Path) -> None:
        """Whoever uses the profile comes through here from now on."""
        server = profile / "server"
        self._gate = server.read_text().split()[0]
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self.deaf = False  # what the gate says gets lost
        server.write_text(
            f"127.0.0.1:{self._listener.getsockname()[1]} as {self._gate}\n"
        )
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """End all connections, and take no more."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def cut(self) -> None:
        """End all connections, both ways; those that come are relayed as ever."""
        with self._lock:
            ended, self._open = self._open, []
            self.deaf = False
        for one in ended:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        host, port = self._gate.rsplit(":", 1)
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                gate = socket.create_connection((host, int(port)))
                with self._lock:
                    self._open += [client, gate]
                for ways in ((client, gate, False), (gate, client, True)):
                    threading.Thread(target=self._carry, args=ways, daemon=True).start()

    def _carry(
        self, source: socket.socket, target: socket.socket, from_gate: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if not (from_gate and self.deaf):
                    target.sendall(data)
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
