"""Fixtures of this folder: what most files ask for; a file may have its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import TRAINER, NewHome
from tests.integration.scene import Scene, open_scene
from tests.support.gate import Home
from tests.support.raw_client import RawClient
from tests.support.stub_gate import StubGate


@pytest.fixture
def home(new_home: NewHome) -> Home:
    """A home with the profile `trainer`, which may run Python code."""
    made = new_home()
    made.profile("trainer", TRAINER)
    return made


@pytest.fixture
def stub(home: Home) -> Iterator[StubGate]:
    """A gate of `home` over a stub executor."""
    with StubGate(home) as gate:
        yield gate


@pytest.fixture
def caller(stub: StubGate) -> Iterator[RawClient]:
    """A connection to `stub` as the profile `trainer`."""
    with RawClient(stub.home.path / "profile/trainer") as raw:
        yield raw


@pytest.fixture
def scene(new_home: NewHome) -> Iterator[Scene]:
    """Profiles that differ in what they may do, and a gate that knows them."""
    with open_scene(new_home()) as opened:
        yield opened


@pytest.fixture(scope="module")
def shared(module_home: Home) -> Iterator[Scene]:
    """The same, one for all tests of a file whose every request is refused."""
    with open_scene(module_home) as opened:
        yield opened
