"""Fixtures of this folder: what most files ask for; a file may have its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import TRAINER, NewHome
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
