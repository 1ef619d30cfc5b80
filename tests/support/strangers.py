"""Peers that want the gate to themselves, and what a healthy client sees meanwhile."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import socket
import ssl
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.calls import HEALTH, rows
from tests.support.gate import Gate, program
from tests.support.raw_client import GREETING, RawClient
from tests.support.stub_gate import StubGate

PATIENCE_S = 60.0
SANITIZED = b"__asan_init" in program("warded").read_bytes()
MANY = 100_000  # more answers than the systems of both ends keep
IP_BIND_ADDRESS_NO_PORT = 24  # Linux: the port is chosen when the peer is known


def allow_descriptors() -> None:
    """As many as the system lets this process have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def keep_little_freed(monkeypatch: pytest.MonkeyPatch, mib: int) -> None:
    """AddressSanitizer keeps so much of what gates free from now on, no more."""
    options = os.environ.get("ASAN_OPTIONS", "")
    asked = f"{options}:quarantine_size_mb={mib}".strip(":")
    monkeypatch.setenv("ASAN_OPTIONS", asked)


def gate_pid(gate: Gate) -> int:
    """The process of the network, a child of the supervisor's."""
    children = Path(f"/proc/{gate.pid}/task/{gate.pid}/children").read_text().split()
    for child in children:
        words = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
        if b"gate" in words:
            return int(child)
    raise AssertionError(f"no gate among {children}")


def resident(pid: int) -> int:
    """Its memory, in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmRSS")


class Usage:
    """The most that a process has had of memory and descriptors."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.before = self.bytes = resident(pid)
        self.descriptors = 0

    def look(self) -> None:
        """Now, once more."""
        self.bytes = max(self.bytes, resident(self._pid))
        descriptors = sum(1 for _ in Path(f"/proc/{self._pid}/fd").iterdir())
        self.descriptors = max(self.descriptors, descriptors)


def connect(gate: Gate) -> socket.socket:
    """A plain TCP connection."""
    host, port = gate.address.split()[0].removeprefix("tls+tcp://").rsplit(":", 1)
    return socket.create_connection((host, int(port)), 10)


class Dribble:
    """A thread that says a byte now and then, until the other end closes."""

    def __init__(self, plain: socket.socket, words: bytes, pause_s: float) -> None:
        self._socket, self._words, self._pause_s = plain, words, pause_s
        self._start = time.monotonic()
        self._took_s = float("inf")
        self._thread = threading.Thread(target=self._say)

    def _say(self) -> None:
        for i in range(len(self._words)):
            try:
                self._socket.sendall(self._words[i : i + 1])
            except OSError:
                break
            if closed(self._socket, self._pause_s):
                break
        else:
            return
        self._took_s = time.monotonic() - self._start

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._thread.join()
        self._socket.close()

    def wait(self) -> float:
        """After how many seconds it was closed; infinity: it could say all."""
        self._thread.join()
        return self._took_s


def before_greeting(profile: Path, pause_s: float) -> Dribble:
    """Of one whose handshake is over: the record of its greeting, with more bytes."""
    host, port = (profile / "server").read_text().split()[0].rsplit(":", 1)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(profile / "ca.pem")
    context.load_cert_chain(profile / "cert.pem", profile / "key.pem")
    heard, said = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(heard, said)
    plain = socket.create_connection((host, int(port)), 10)
    while True:
        with contextlib.suppress(ssl.SSLWantReadError):
            tls.do_handshake()
            break
        plain.sendall(said.read())
        heard.write(plain.recv(65536))
    plain.sendall(said.read())  # Finished
    tls.write(GREETING + bytes(100))
    return Dribble(plain, said.read(), pause_s)


class Crowd:
    """Plain connections from many addresses, as many of each.

    `renew` opens those that are missing, and those anew that the gate has closed.
    """

    def __init__(self, gate: Gate, sources: Sequence[str], each: int) -> None:
        host, port = gate.address.split()[0].removeprefix("tls+tcp://").rsplit(":", 1)
        self._at = (host, int(port))
        self._missing = deque(source for _ in range(each) for source in sources)
        self._epoll = select.epoll()
        self._held: dict[int, tuple[socket.socket, str]] = {}
        self.opened = self.most_held = 0

    def renew(self) -> None:
        """A few hundred of them."""
        for _ in range(min(len(self._missing), 200)):
            self._open(self._missing.popleft())
        for number, _ in self._epoll.poll(0.01, 1000):
            connection, source = self._held.pop(number)
            connection.close()
            self._missing.append(source)
        self.most_held = max(self.most_held, len(self._held))

    def _open(self, source: str) -> None:
        connection = socket.socket()
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
        connection.bind((source, 0))
        connection.connect_ex(self._at)
        self._epoll.register(connection, select.EPOLLIN | select.EPOLLHUP)
        self._held[connection.fileno()] = (connection, source)
        self.opened += 1

    def close(self) -> None:
        """All of them."""
        for connection, _ in self._held.values():
            connection.close()
        self._epoll.close()


def frame(size: int, sent: int) -> bytes:
    """The start of a message of `size` bytes: its length, number and `sent` of it."""
    return struct.pack(">QI", size, 0x80000001) + bytes(sent - 4)


def closed(connection: socket.socket, patience_s: float) -> bool:
    """Does the other end close it in time?"""
    connection.settimeout(patience_s)
    try:
        while connection.recv(65536):
            pass
    except TimeoutError:
        return False
    except (ConnectionError, ssl.SSLError):
        pass
    return True


def p99_ms(profile: Path, calls: int) -> float:
    """Of a healthy client's calls, each of which must succeed."""
    took = []
    with RawClient(profile) as raw:
        for _ in range(calls):
            start = time.monotonic()
            assert raw.call(HEALTH).code == 0
            took.append(time.monotonic() - start)
    return sorted(took)[len(took) * 99 // 100] * 1000


@contextlib.contextmanager
def meanwhile(doing: Callable[[], None]) -> Iterator[None]:
    """Something done again and again by a thread, until the end of the block."""
    done = threading.Event()
    failures: list[BaseException] = []

    def again() -> None:
        try:
            while not done.is_set():
                doing()
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=again)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
    assert not failures, failures


def ask_without_reading(raw: RawClient, method: str, patience_s: float = 1) -> None:
    """Until the gate closes the connection, or has read no more of it for so long.

    In a thread of its own: OpenSSL keeps a thread's errors, and would tell the next
    connection of this one's.
    """

    def ask() -> None:
        raw.set_patience(patience_s)
        with contextlib.suppress(OSError):
            for _ in range(MANY):
                raw.send(raw.request(method, token="none").SerializeToString())

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()


def established() -> set[int]:
    """The peers' ports of this machine's TCP connections that are open: proc_net(5)."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    cells = (line.split() for line in lines)
    return {int(c[2].rpartition(":")[2], 16) for c in cells if c[3] == "01"}


def counted(gate: Gate | StubGate, event: str, reasons: Collection[str]) -> int:
    """How many refusals for one of these reasons the trail tells of."""
    total = 0
    for line in rows(gate.home, "--event", event):
        row = json.loads(line)
        if row.get("reason") in reasons:
            detail = row["detail"]
            told = json.loads(detail) if isinstance(detail, str) else detail
            total += int(told["count"])
    return total


def wait_counted(
    gate: Gate | StubGate,
    event: str,
    least: int,
    *reasons: str,
    patience_s: float = PATIENCE_S,
) -> int:
    """Wait until the trail tells of so many; how many it tells of."""
    until = time.monotonic() + patience_s
    while (seen := counted(gate, event, reasons)) < least and time.monotonic() < until:
        time.sleep(0.2)
    assert seen >= least, f"{event}/{reasons}: {seen} of {least}"
    return seen
