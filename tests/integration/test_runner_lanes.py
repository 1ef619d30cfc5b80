"""How tests/run.sh shares its tests among lanes."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runner.lanes import run_lanes
from tests.runner.model import ROOT, Lane, Outcome, Result
from tests.runner.progress import Progress
from tests.runner.pytests import Files

MEET_S = 60.0


def lane(name: str, met: threading.Barrier, **how: bool) -> Lane:
    """Ends when as many are there as are to run beside one another."""

    def run() -> Iterator[Result]:
        met.wait(MEET_S)
        yield Result(name, Outcome.PASSED)

    return Lane(name, run, **how)


def names(progress: Progress) -> list[str]:
    return [result.name for result in progress.results]


def test_lanes_run_beside_one_another_and_one_that_is_alone_after_them() -> None:
    progress, both = Progress(), threading.Barrier(2)
    alone = lane("alone", threading.Barrier(1), alone=True)
    run_lanes([alone, lane("a", both), lane("b", both)], progress)
    assert sorted(names(progress)[:2]) == ["a", "b"]
    assert names(progress)[2:] == ["alone"]


def test_a_lane_that_breaks_is_a_failure_and_the_others_go_on() -> None:
    def broken() -> Iterator[Result]:
        yield Result("before", Outcome.PASSED)
        raise ValueError("a fault of the runner")

    progress = Progress()
    run_lanes([Lane("a", broken), lane("b", threading.Barrier(1))], progress)
    assert sorted(names(progress)) == ["b", "before", "runner.lane"]
    (failure,) = progress.failures
    assert "a fault of the runner" in failure.output


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Files:
    """Three tests of two files."""
    monkeypatch.setattr("tests.runner.pytests.BUILD", tmp_path)
    return Files("shared", ["a.py::x", "b.py::y", "a.py::z"])


def test_each_file_is_taken_once_and_with_all_of_its_tests(files: Files) -> None:
    held: dict[str, None] = {}
    assert files.take(held) == "a.py"
    assert list(held) == ["a.py::x", "a.py::z"]
    assert files.take(held) == "b.py"
    assert (files.take(held), len(files)) == ("", 0)
    assert list(held) == ["a.py::x", "a.py::z", "b.py::y"]


def test_what_nobody_took_is_known_by_name(files: Files) -> None:
    files.take({})
    assert list(files.rest()) == ["b.py::y"]
    assert (len(files), files.take({})) == (0, "")


RUNNER = """
import sys
from tests.runner.lanes import run_lanes
from tests.runner.model import Lane
from tests.runner.process import run
from tests.runner.progress import Progress

def lane():
    run([sys.executable, "-c", sys.argv[1]], watch=lambda line: print(line, flush=True))
    yield from ()

try:
    run_lanes([Lane("a", lane)], Progress())
except KeyboardInterrupt:
    print("interrupted")
"""
STAYS = "import signal; print('here', flush=True); signal.pause()"


def test_an_interrupt_ends_whatever_runs() -> None:
    command = [sys.executable, "-c", RUNNER, STAYS]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as runner:
        assert runner.stdout is not None
        for line in runner.stdout:
            if line == "here\n":
                break
        runner.send_signal(signal.SIGINT)
        said = runner.stdout.read()
        assert runner.wait(MEET_S) == 0
    assert said.endswith("KeyboardInterrupt\ninterrupted\n")
