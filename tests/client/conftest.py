"""Fixtures: one CA a session; gates and profiles made on demand."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import warded

from tests.client.fake_gate import FakeGate
from tests.client.pki import Authority, Leaf, make_profile


@pytest.fixture(scope="session")
def authority() -> Authority:
    """The CA of gates and clients."""
    return Authority()


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Audit heads go here."""
    home = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(home))
    return home


@pytest.fixture
def gate_folder(tmp_path: Path, authority: Authority) -> Path:
    """ca.pem, cert.pem and key.pem of the gate that clients expect."""
    return write_gate(tmp_path / "gate", authority, Leaf())


@pytest.fixture
def start(gate_folder: Path) -> Iterator[Callable[..., FakeGate]]:
    """start(answer, folder=..., ...): a fake gate, closed at the end."""
    with contextlib.ExitStack() as stack:

        def make(*args: Any, folder: Path = gate_folder, **kwargs: Any) -> FakeGate:
            return stack.enter_context(FakeGate(folder, *args, **kwargs))

        yield make


@pytest.fixture
def profile_of(tmp_path: Path, authority: Authority) -> Callable[[FakeGate], Path]:
    """profile_of(gate): a profile folder that dials it."""
    return lambda gate: make_profile(tmp_path / "profile", authority, gate.server_line)


@pytest.fixture
def meet(
    tmp_path: Path,
    authority: Authority,
    start: Callable[..., FakeGate],
    profile_of: Callable[[FakeGate], Path],
) -> Callable[..., tuple[FakeGate, Path]]:
    """meet(leaf, policy): a gate with that certificate, a profile that dials it."""

    def make(leaf: Leaf, policy: str | None = None) -> tuple[FakeGate, Path]:
        gate = start(folder=write_gate(tmp_path / "met", authority, leaf))
        profile = profile_of(gate)
        if policy is not None:
            (profile / "policy").write_text(policy)
        return gate, profile

    return make


@pytest.fixture
def channel_of(
    profile_of: Callable[[FakeGate], Path],
) -> Iterator[Callable[[FakeGate], warded.Channel]]:
    """channel_of(gate): a channel to it, closed at the end."""
    with contextlib.ExitStack() as stack:
        yield lambda gate: stack.enter_context(warded.connect(profile_of(gate)))


def write_gate(folder: Path, authority: Authority, leaf: Leaf) -> Path:
    """A folder for FakeGate."""
    folder.mkdir()
    authority.issue(leaf).write(folder)
    (folder / "ca.pem").write_bytes(authority.pem)
    return folder
