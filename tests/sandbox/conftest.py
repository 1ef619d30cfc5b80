"""One executor of two slots for all tests that do not need their own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandbox.bait import Bait
from tests.support.execd_client import SHARED_BASE, Execd, write_home
from tests.support.jobs import Jobs


@pytest.fixture(scope="session")
def bait() -> Iterator[Bait]:
    """Bait on the host; the way to it is open to all, unlike pytest's own folders."""
    with tempfile.TemporaryDirectory(prefix="warded-bait-") as folder:
        bait = Bait(Path(folder))
        yield bait
        bait.close()


@pytest.fixture(scope="session")
def execd(tmp_path_factory: pytest.TempPathFactory, bait: Bait) -> Iterator[Execd]:
    """A ready executor, with a secret in its environment."""
    home = write_home(tmp_path_factory.mktemp("home"), uid_base=SHARED_BASE)
    with Execd(home, env={"WARDED_TOKEN": bait.word}) as executor:
        executor.wait_ready()
        yield executor


@pytest.fixture(scope="session")
def jobs(execd: Execd) -> Jobs:
    """Its job socket."""
    jobs = execd.connect()
    jobs.wait_ready()
    return jobs


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder for an executor of one's own."""
    return write_home(tmp_path / "home", slots=1)
