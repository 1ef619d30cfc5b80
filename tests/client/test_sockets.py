"""Sockets of a client: how they are set, and that none stays open or remembered."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest
import warded
from warded import _fork, v1
from warded._open import Progress, Socket, open_one
from warded.profile import Profile

from tests.client.conftest import write_gate
from tests.client.fake_gate import FakeGate
from tests.client.pki import Authority, Leaf, make_profile

Start = Callable[..., FakeGate]
ProfileOf = Callable[[FakeGate], Path]

TRIES = 5


def held() -> tuple[set[int], int]:
    """The sockets that are open, and how many owners a forked child would ask."""
    found = set()
    for path in Path("/proc/self/fd").iterdir():
        try:
            if path.is_socket():
                found.add(path.stat().st_ino)
        except OSError:
            continue  # the folder's own number
    return found, len(_fork.registry._owners)


def test_a_connection_notices_that_its_gate_has_vanished(
    start: Start, profile_of: ProfileOf
) -> None:
    credentials = Profile(profile_of(start())).credentials()
    opened = open_one(credentials, credentials.servers[0], Progress())
    try:
        raw = opened.socket.raw
        assert raw.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
        assert raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 15
        assert raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL) == 5
        assert raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT) == 3
    finally:
        opened.socket.close()


def test_a_refused_connect_leaves_no_socket(
    tmp_path: Path, authority: Authority
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    profile = make_profile(tmp_path / "p", authority, f"127.0.0.1:{port}\n")
    credentials = Profile(profile).credentials()
    before = held()
    for _ in range(TRIES):
        with pytest.raises(warded.Unreachable):
            open_one(credentials, credentials.servers[0], Progress())
    assert held() == before


def test_a_refused_gate_leaves_no_socket(
    tmp_path: Path, start: Start, authority: Authority
) -> None:
    folder = write_gate(tmp_path / "foreign", Authority(), Leaf())
    gate = start(folder=folder)
    profile = make_profile(tmp_path / "p", authority, gate.server_line)
    credentials = Profile(profile).credentials()
    _, owners = held()
    for _ in range(TRIES):
        with pytest.raises(warded.HostNotAdopted):
            open_one(credentials, credentials.servers[0], Progress())
    assert held()[1] == owners


def test_a_closed_socket_is_forgotten() -> None:
    before = held()
    made = [Socket(socket.AF_INET, socket.SOCK_STREAM, 0) for _ in range(TRIES)]
    assert held()[1] == before[1] + TRIES
    for one in made:
        one.close()
        one.close()
    assert held() == before


def test_a_closed_channel_leaves_no_owner(start: Start, profile_of: ProfileOf) -> None:
    profile = profile_of(start())
    _, before = held()
    for _ in range(TRIES):
        with warded.connect(profile) as channel:
            v1.HealthStub(channel).Check(v1.HealthCheckRequest())
    assert held()[1] <= before + 2  # the last one's thread may still be ending
