"""Peers that want the gate to themselves, and what a healthy client sees meanwhile."""

from __future__ import annotations

import contextlib
import json
import resource
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from tests.support.calls import HEALTH, rows
from tests.support.gate import Gate
from tests.support.raw_client import RawClient
from tests.support.stub_gate import StubGate

MANY = 100_000  # more answers than the systems of both ends keep


def allow_descriptors() -> None:
    """As many as the system lets this process have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


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


def connect(gate: Gate) -> socket.socket:
    """A plain TCP connection."""
    host, port = gate.address.split()[0].removeprefix("tls+tcp://").rsplit(":", 1)
    return socket.create_connection((host, int(port)), 10)


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

    def again() -> None:
        while not done.is_set():
            doing()

    thread = threading.Thread(target=again)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


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


def wait_counted(gate: Gate | StubGate, event: str, least: int, *reasons: str) -> int:
    """Wait (20 s at most) until the trail tells of so many; how many it tells of."""
    until = time.monotonic() + 20
    while (seen := counted(gate, event, reasons)) < least and time.monotonic() < until:
        time.sleep(0.2)
    assert seen >= least, f"{event}/{reasons}: {seen} of {least}"
    return seen
