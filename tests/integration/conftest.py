"""Fixtures of this folder: what most files ask for; a file may have its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import TRAINER, NewHome
from tests.support.ctl import Ctl, open_gate
from tests.support.gate import Home
from tests.support.raw_client import RawClient
from tests.support.store import Store, new_store
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
def scene(request: pytest.FixtureRequest, new_home: NewHome) -> Iterator[Any]:
    """The `Scene` that the file of tests names, in a home of its own."""
    with request.module.Scene.open(new_home()) as opened:
        yield opened


@pytest.fixture(scope="module")
def shared(request: pytest.FixtureRequest, module_home: Home) -> Iterator[Any]:
    """The same, one for all tests of a file whose every request is refused."""
    with request.module.Scene.open(module_home) as opened:
        yield opened


# --- for tokctl ---------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store."""
    return new_store(tmp_path / "store")


@pytest.fixture(scope="module")
def asked() -> Iterator[StubGate]:
    """A gate with the profiles of `boss` and `reader`, for all tests of a file."""
    with open_gate() as running:
        yield running


@pytest.fixture
def boss(asked: StubGate) -> Ctl:
    """Who may do all that tokctl does."""
    return Ctl(asked.home.path / "profile/boss")


@pytest.fixture
def reader(asked: StubGate) -> Ctl:
    """Who may read the trail alone."""
    return Ctl(asked.home.path / "profile/reader")
