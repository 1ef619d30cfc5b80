"""What ends an action, or keeps it from starting: limits, deadlines, the queue."""

from __future__ import annotations

import time
from textwrap import dedent
from typing import Any

import pytest

from tests.support.jobs import (
    CPU,
    ENDED,
    FAILED,
    MEMORY,
    NONE,
    NOT_STARTED,
    PIDS,
    REFUSED,
    WALL,
    Jobs,
)

MIB = 1 << 20


def test_claim_11_a_timeout_keeps_what_was_printed(jobs: Jobs) -> None:
    code = "import time\nprint('begun', flush=True)\ntime.sleep(60)\n"
    done = jobs.run(code, wall_ms=1500)
    assert (done.cause, done.signal, done.stdout) == (WALL, 9, b"begun\n")
    assert 1_500_000 <= done.run_us < 3_500_000


def test_claim_11_the_deadline_of_the_call_comes_before_a_longer_limit(
    jobs: Jobs,
) -> None:
    end = int(time.monotonic() * 1000) + 400
    done = jobs.run("while True: pass", end_by_ms=end)
    assert (done.cause, done.signal) == (WALL, 9)
    assert time.monotonic() * 1000 < end + 2000


def test_claim_11_processor_time_is_summed_over_processes(jobs: Jobs) -> None:
    code = "import os\nos.fork()\nos.fork()\nwhile True: pass\n"
    done = jobs.run(code, cpu_ms=600, wall_ms=30_000)
    assert (done.cause, done.signal) == (CPU, 9)
    assert done.leftovers == 3


def test_claim_11_memory_is_said_to_be_what_ended_it(jobs: Jobs) -> None:
    done = jobs.run("x = b'x' * (300 << 20)", memory_bytes=64 * MIB)
    assert (done.cause, done.signal) == (MEMORY, 9)


def test_claim_11_processes_are_said_to_be_what_failed_it(jobs: Jobs) -> None:
    code = "import os, time\nwhile True:\n    if os.fork() == 0: time.sleep(60)\n"
    done = jobs.run(code, pids=8)
    assert (done.cause, done.code) == (PIDS, 1)
    assert done.leftovers == 7
    assert b"BlockingIOError" in done.stderr


def test_claim_11_as_many_processes_as_allowed_can_run(jobs: Jobs) -> None:
    code = """
        import os
        ends = os.pipe()
        for _ in range(7):
            if os.fork() == 0:
                os.read(ends[0], 1)
                os._exit(0)
        os.write(ends[1], b"1234567")
        print(sum(os.wait()[1] == 0 for _ in range(7)))
        """
    done = jobs.run(dedent(code), pids=8)
    assert (done.stdout, done.cause, done.code) == (b"7\n", NONE, 0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("wall_ms", 600_001),
        ("cpu_ms", 600_001),
        ("memory_bytes", 5 << 30),
        ("pids", 5000),
        ("files_bytes", 2 << 30),
        ("output_bytes", 9 * MIB),
    ],
)
def test_claim_11_a_limit_above_its_maximum_is_refused(
    name: str, value: int, jobs: Jobs
) -> None:
    limit: dict[str, Any] = {name: value}
    done = jobs.run("print('ran')", **limit)
    assert (done.outcome, done.stdout) == (REFUSED, b"")
    assert f"limits.{name} is above sandbox.maxima.{name}" in done.message


def test_claim_11_an_unknown_tool_is_refused(jobs: Jobs) -> None:
    done = jobs.run("print('ran')", tool="fortran")
    assert (done.outcome, done.message) == (REFUSED, "no tool is called fortran")


def test_claim_11_too_little_memory_for_the_interpreter_is_memory_or_failure(
    jobs: Jobs,
) -> None:
    done = jobs.run("print('ran')", memory_bytes=2 * MIB)
    assert (done.outcome, done.cause) == (ENDED, MEMORY) or done.outcome == FAILED
    assert jobs.run("print(1)").stdout == b"1\n"


def test_claim_11_two_slots_run_two_actions_at_once(jobs: Jobs) -> None:
    both = [jobs.submit("import time; time.sleep(0.4)") for _ in range(2)]
    for job in both:
        jobs.wait_started(job)
    assert not any(jobs.has(job) for job in both)
    assert all(jobs.wait(job).code == 0 for job in both)


def test_claim_11_queue_and_run_time_are_told_apart(jobs: Jobs) -> None:
    busy = [jobs.submit("import time; time.sleep(0.4)") for _ in range(2)]
    last = jobs.submit("pass")
    done = jobs.wait(last)
    assert done.queue_us >= 350_000
    assert all(jobs.wait(job).queue_us < done.queue_us for job in busy)


def test_claim_11_what_did_not_start_in_time_does_not_start(jobs: Jobs) -> None:
    busy = [jobs.submit("import time; time.sleep(0.6)") for _ in range(2)]
    start_by = int(time.monotonic() * 1000) + 200
    late = jobs.wait(jobs.submit("print('ran')", start_by_ms=start_by))
    assert (late.outcome, late.stdout) == (NOT_STARTED, b"")
    assert not any(jobs.has(job) for job in busy)
    for job in busy:
        assert jobs.wait(job).code == 0
