"""Ports that a restarted gate finds free again."""

from __future__ import annotations

import itertools
import os
import socket
from pathlib import Path

RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
FIRST = 10_000
CANDIDATES = itertools.count(os.getpid() * 64)


def free_port() -> int:
    """A port of loopback that no outgoing connection is given.

    One from the range of those is taken, while the gate is down, by anybody's
    connection, and by a client of the gate that is then connected with itself.
    """
    last = int(RANGE.read_text().split()[0])
    for number in CANDIDATES:
        port = FIRST + number % (last - FIRST)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
    raise AssertionError("unreachable")
