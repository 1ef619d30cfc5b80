"""A child of the supervisor as a puppet: does what the test tells it, and no more.

Connects to the test's socket, says "NAME PID", then obeys, a line an order and a line
an answer:

    say R            send a control message (a kind, and text)
    hear             wait for a control message: "X", "S", "H", or "end"
    write TEXT       write to the newest job socket
    read             read from it: the text, or "end"
    env              the names of the environment's variables
    fds              open descriptors, as numbers
    exit N           exit
"""

import array
import os
import socket
import sys
from pathlib import Path

Answer = str


class Puppet:
    """The control socket, the job sockets received so far, and the strings."""

    def __init__(self, path: str, name: str) -> None:
        self._control = socket.socket(fileno=3)
        self._jobs: list[socket.socket] = []
        self._strings = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._strings.connect(path)
        self._answer(f"{name} {os.getpid()}")

    def _answer(self, text: str) -> None:
        self._strings.sendall(text.encode() + b"\n")

    def _hear(self) -> Answer:
        room = socket.CMSG_SPACE(4)
        data, parts, _, _ = self._control.recvmsg(2048, room)
        if not data:
            return "end"
        for _, _, payload in parts:
            fds = array.array("i", payload[:4])
            self._jobs.append(socket.socket(fileno=fds[0]))
        return data.decode()

    def _obey(self, verb: str, rest: str) -> Answer:
        if verb == "say":
            self._control.send(rest[:1].encode() + rest[2:].encode())
            return "said"
        if verb == "hear":
            return self._hear()
        if verb == "write":
            self._jobs[-1].sendall(rest.encode())
            return "written"
        if verb == "read":
            return self._jobs[-1].recv(100).decode() or "end"
        if verb == "env":
            return " ".join(sorted(os.environ))
        if verb == "fds":
            listed = Path("/proc/self/fd").iterdir()
            return " ".join(sorted(p.name for p in listed if p.exists()))
        if verb == "exit":
            os._exit(int(rest))
        return f"unknown order: {verb}"

    def run(self) -> None:
        """Obey until the test lets go."""
        for line in self._strings.makefile():
            verb, _, rest = line.rstrip("\n").partition(" ")
            self._answer(self._obey(verb, rest))


Puppet(sys.argv[1], sys.argv[2]).run()
