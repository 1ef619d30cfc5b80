"""How much of the processors an action gets when others want them too."""

from __future__ import annotations

import time
from pathlib import Path

from tests.sandbox import counts
from tests.support.execd_client import Execd
from tests.support.jobs import Jobs

LONG = "import time\nwhile time.process_time() < 8: pass\n"
WAIT_S = 30.0


def shares(execd_pid: int) -> set[int]:
    """The weights of all leaves; a leaf that goes meanwhile has none."""
    files = [
        Path(folder) / name
        for folder in counts.leaves(execd_pid)
        for name in ("cpu.shares", "cpu.weight")
    ]
    return {int(f.read_text()) for f in files if f.exists()}


def wait_for(execd_pid: int, share: set[int]) -> bool:
    """Look until a leaf has one of these."""
    end = time.monotonic() + WAIT_S
    while not shares(execd_pid) & share:
        if time.monotonic() > end:
            return False
    return True


def test_an_action_starts_with_a_full_share_and_a_long_one_yields(
    execd: Execd, jobs: Jobs
) -> None:
    job = jobs.submit(LONG)
    jobs.wait_started(job)
    assert wait_for(execd.pid, {1024, 100})
    assert wait_for(execd.pid, {512, 50})
    jobs.cancel(job)
    jobs.wait(job)
