"""Fixtures of this folder: what most files ask for; a file may have its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import TRAINER, NewHome
from tests.integration.scene import TRAINER as TRAINER_URI
from tests.integration.scene import Scene
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
    home = new_home()
    home.profile("trainer", "observe:python_code")
    home.profile("other", "observe:python_code")
    home.profile("reader", "audit:read")
    home.profile("wrong_tool", "observe:bash_terminal")
    home.profile("boss", "token:**", "observe:**")
    not_yet, elsewhere = (
        home.tokctl(
            "issue", name, "--scope", TRAINER, "--bind", TRAINER_URI, *words
        ).stdout.strip()
        for name, *words in (
            ("later", "--not-before", "+1h"),
            ("elsewhere", "--audience", "spiffe://elsewhere/**"),
        )
    )
    folder = home.path.parent / "made"
    folder.mkdir()
    with StubGate(home) as stub:
        yield Scene(stub, home, folder, not_yet, elsewhere)
