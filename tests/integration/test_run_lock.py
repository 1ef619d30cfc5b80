"""The lock of a run folder: who runs under it, and who was left behind by a crash."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.puppets import Stage


def start_of(pid: int) -> str:
    """When it started, as the kernel counts."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    return stat.rsplit(")", 1)[1].split()[19]


@pytest.fixture
def left_behind() -> Iterator[subprocess.Popen[bytes]]:
    """What stands for a child of a supervisor that was killed."""
    with subprocess.Popen(["sleep", "1000"]) as child:
        yield child
        child.kill()


def test_claim_04_the_lock_says_who_runs_under_it(tmp_path: Path) -> None:
    with contextlib.closing(Stage(tmp_path)) as stage:
        children = [f"{child.pid} {start_of(child.pid)}" for child in stage.both()]
        lines = (stage.run_dir / "lock").read_text().splitlines()
        assert lines == [str(stage.process.pid), *children]


def test_claim_04_a_child_of_a_killed_supervisor_is_waited_for(
    tmp_path: Path, left_behind: subprocess.Popen[bytes]
) -> None:
    pid = left_behind.pid
    lock = f"1\n{pid} {start_of(pid)}\n"
    with contextlib.closing(Stage(tmp_path, lock=lock, dead_ms=60_000)) as stage:
        stage.no_child(0.3)
        left_behind.kill()
        stage.both()


def test_claim_04_a_child_of_a_killed_supervisor_that_lives_on_is_told(
    tmp_path: Path, left_behind: subprocess.Popen[bytes]
) -> None:
    pid = left_behind.pid
    lock = f"1\n4194304 1\n{pid} {start_of(pid)}\n"
    with contextlib.closing(Stage(tmp_path, lock=lock)) as stage:
        assert stage.wait() == 1
        assert f"process {pid}, of a 'warded serve' that was killed" in stage.log()


@pytest.mark.parametrize(
    "lock",
    ["", "\n", "1\n{pid} 1\n", "1\n{pid}\n", "1\n0 0\n-1 5\n", "1\nx\n"],
)
def test_a_lock_that_names_no_such_child_is_in_nobodys_way(
    tmp_path: Path, left_behind: subprocess.Popen[bytes], lock: str
) -> None:
    text = lock.replace("{pid}", str(left_behind.pid))
    with contextlib.closing(Stage(tmp_path, lock=text)) as stage:
        stage.both()
