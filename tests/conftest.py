"""Fixtures of every folder: homes and gates, made on demand and always ended."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from tests.support import gate as support
from tests.support.gate import Gate, Home

TRAINER = "observe:python_code"

NewHome = Callable[..., Home]
NewGate = Callable[..., Gate]


@contextlib.contextmanager
def _folders() -> Iterator[Callable[[], Path]]:
    made: list[Path] = []

    def make() -> Path:
        # Not pytest's tmp_path: the gate's account must be able to reach it.
        folder = Path(tempfile.mkdtemp(prefix="warded-test-", dir="/tmp"))
        folder.chmod(0o755)
        made.append(folder)
        return folder / "home"

    yield make
    for folder in made:
        support.remove(folder)


@contextlib.contextmanager
def _gates() -> Iterator[Callable[[Gate], Gate]]:
    started: list[Gate] = []

    def keep(gate: Gate) -> Gate:
        gate.start()
        started.append(gate)
        return gate

    yield keep
    for gate in started:
        gate.stop()


@pytest.fixture
def new_home() -> Iterator[NewHome]:
    """new_home(*init_options): a fresh Home, gone after the test."""
    with _folders() as make:
        yield lambda *options: Home.make(make(), *options)


@pytest.fixture
def new_gate() -> Iterator[NewGate]:
    """new_gate(home, **options): a started Gate, stopped after the test."""
    with _gates() as keep:
        yield lambda home, **options: keep(Gate(home, **options))


@pytest.fixture(scope="module")
def module_home() -> Iterator[Home]:
    """A Home for all tests of a file."""
    with _folders() as make:
        yield Home.make(make())


@pytest.fixture(scope="module")
def gate() -> Iterator[Gate]:
    """One gate for all tests of a file, with the profiles `trainer` and `admin`."""
    with _folders() as make:
        home = Home.make(make())
        home.profile("trainer", TRAINER)
        with Gate(home) as running:
            yield running


@pytest.fixture
def trainer(gate: Gate) -> Path:
    """The profile of `gate` that may run Python."""
    return gate.home.path / "profile/trainer"


def pytest_configure(config: pytest.Config) -> None:
    """The marks of tests/runner are known without it, by hand."""
    config.addinivalue_line("markers", "limit(seconds): a longer limit for this test")
    config.addinivalue_line("markers", "alone: measures, so nothing runs beside it")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the logs of the gates that run beside a failure."""
    report = yield
    if report.failed:
        for running in support.RUNNING:
            report.sections.append(("log of warded serve", running.log[-8000:]))
    return report
