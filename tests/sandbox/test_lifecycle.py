"""Sockets end, supervisors die, executors are killed: nothing stays alive."""

from __future__ import annotations

import os
import select
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.sandbox.counts import back_at, idle, leaves, processes_of, take
from tests.support.execd_client import UID_BASE, Execd, write_home
from tests.support.jobs import CANCEL, ENDED, FAILED, NOT_STARTED, ClosedError, Jobs

SLEEPER = """\
import os, sys, time
if os.fork() == 0:
    os.setsid()
    time.sleep(600)
print("begun", flush=True)
time.sleep(600)
"""


@pytest.fixture
def own(home: Path) -> Iterator[Execd]:
    """An executor of one slot that a test may break."""
    with Execd(home) as execd:
        execd.wait_ready()
        yield execd


def ready(execd: Execd) -> Jobs:
    jobs = execd.connect()
    jobs.wait_ready()
    return jobs


def await_death(pids: list[int]) -> None:
    """Return when these processes have ended."""
    for pid in pids:
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        ended, _, _ = select.select([fd], [], [], 10)
        os.close(fd)
        assert ended, f"process {pid} is alive"


def slot_processes() -> list[int]:
    return list(processes_of(range(UID_BASE, UID_BASE + 2), alive=True))


def until(true: Callable[[], bool]) -> None:
    """Return when it is so."""
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        select.select([], [], [], 0.01)


def run_sleeper(jobs: Jobs) -> int:
    """Returns when the action and its child run in slot 0."""
    job = jobs.submit(SLEEPER)
    jobs.wait_started(job)
    worker = range(UID_BASE + 1, UID_BASE + 2)
    until(lambda: len(list(processes_of(worker, alive=True))) == 2)
    return job


def test_claim_11_cancel_kills_the_whole_tree_before_it_answers(own: Execd) -> None:
    jobs = ready(own)
    before = idle(own.pid, slots=1)
    job = run_sleeper(jobs)
    jobs.cancel(job)
    done = jobs.wait(job)
    assert (done.outcome, done.cause, done.signal) == (ENDED, CANCEL, 9)
    assert slot_processes() == []
    back_at(before, own.pid, slots=1)


def test_claim_11_cancel_in_the_queue_means_not_started(own: Execd) -> None:
    jobs = ready(own)
    running = run_sleeper(jobs)
    waiting = jobs.submit("print('ran')")
    jobs.cancel(waiting)
    done = jobs.wait(waiting)
    assert (done.outcome, done.stdout) == (NOT_STARTED, b"")
    assert not jobs.has(running)
    jobs.cancel(running)
    jobs.wait(running)


def test_claim_11_cancel_of_an_unknown_job_is_ignored(own: Execd) -> None:
    jobs = ready(own)
    jobs.cancel(4711)
    assert jobs.run("print(1)").stdout == b"1\n"


def test_claim_11_actions_start_first_in_first_out(own: Execd) -> None:
    jobs = ready(own)
    sent = [jobs.submit("import time; print(time.monotonic_ns())") for _ in range(6)]
    times = [int(jobs.wait(job).stdout) for job in sent]
    assert times == sorted(times)


def test_claim_10_the_end_of_the_job_socket_kills_all_that_came_from_it(
    own: Execd,
) -> None:
    before = idle(own.pid, slots=1)
    jobs = ready(own)
    run_sleeper(jobs)
    jobs.submit("print('never')")
    jobs.close()
    assert own.receive() == b"K"
    assert slot_processes() == []
    back_at(before, own.pid, slots=1)
    assert ready(own).run("print('next')").stdout == b"next\n"


def test_claim_10_a_socket_without_jobs_is_confirmed_too(own: Execd) -> None:
    for _ in range(3):
        ready(own).close()
        assert own.receive() == b"K"


@pytest.mark.parametrize(
    "frame",
    [b"\xff\xff\xff", b"", b"\x0a\x7f\x01", b"\x0a\x00"],
    ids=["garbage", "empty", "cut", "job_without_number"],
)
def test_claim_10_a_malformed_message_ends_the_socket_and_nothing_else(
    frame: bytes, own: Execd
) -> None:
    jobs = ready(own)
    run_sleeper(jobs)
    jobs.send_raw(frame)
    with pytest.raises(ClosedError):
        jobs.wait_unavailable()
    assert own.receive() == b"K"
    assert slot_processes() == []
    assert ready(own).run("print(1)").stdout == b"1\n"


def test_claim_10_a_length_beyond_the_limit_ends_the_socket(own: Execd) -> None:
    jobs = ready(own)
    jobs._socket.sendall(b"\xff\xff\xff\xff")
    with pytest.raises(ClosedError):
        jobs.wait_unavailable()
    assert own.receive() == b"K"


def test_claim_10_a_killed_executor_leaves_no_process_and_its_cgroups_are_removed(
    home: Path,
) -> None:
    with Execd(home) as execd:
        execd.wait_ready()
        jobs = ready(execd)
        run_sleeper(jobs)
        until(lambda: len(slot_processes()) == 3)
        alive = slot_processes()
        execd.kill()
    await_death(alive)
    assert slot_processes() == []
    left = list(leaves(execd.pid))
    assert left != []
    with Execd(home) as execd2:
        execd2.wait_ready()
        until(lambda: list(leaves(execd.pid)) == [])


def test_claim_10_without_a_supervisor_the_executor_kills_all_and_ends(
    own: Execd,
) -> None:
    jobs = ready(own)
    run_sleeper(jobs)
    own.control.close()
    assert own.process.wait(10) == 0
    assert slot_processes() == []
    assert list(leaves(own.pid)) == []


def test_claim_10_stop_kills_all_and_ends(own: Execd) -> None:
    jobs = ready(own)
    run_sleeper(jobs)
    assert own.stop() == 0
    assert slot_processes() == []
    assert list(leaves(own.pid)) == []
    assert not (own.log.parent / "run" / "canary").exists()


def test_claim_10_killing_a_slot_from_outside_is_a_failure_not_an_observation(
    own: Execd,
) -> None:
    jobs = ready(own)
    job = run_sleeper(jobs)
    children = take(own.pid, slots=1).children
    os.kill(children[0], 9)
    done = jobs.wait(job)
    assert (done.outcome, done.stdout) == (FAILED, b"")
    assert done.message.startswith("pid-namespace: the slot's init died")
    assert jobs.run("print(1)").stdout == b"1\n"


@pytest.fixture
def interpreter() -> Iterator[Path]:
    """A link to python3 in a folder that slots can see."""
    folder = Path(tempfile.mkdtemp(prefix="warded-test-", dir="/opt"))
    folder.chmod(0o755)
    link = folder / "python3"
    link.symlink_to("/usr/bin/python3")
    yield link
    shutil.rmtree(folder)


def relink(link: Path, target: str) -> None:
    new = link.with_suffix(".new")
    new.symlink_to(target)
    new.replace(link)


def write_linked(home: Path, interpreter: Path, *, slots: int) -> Path:
    """A home whose tool runs that interpreter."""
    more = f"  roots: [/usr, /etc/alternatives, /etc/ld.so.cache, {interpreter.parent}]"
    write_home(home, slots=slots, more=more)
    config = home / "warded.yaml"
    config.write_text(f"{config.read_text()}    interpreter: {interpreter}\n")
    return home


def test_claim_10_a_canary_that_fails_later_stops_everything_until_it_holds_again(
    tmp_path: Path, interpreter: Path
) -> None:
    home = write_linked(tmp_path / "home", interpreter, slots=1)
    with Execd(home, options=("--canary-ms", "300")) as execd:
        execd.wait_ready()
        jobs = ready(execd)
        assert jobs.run("print(1)").stdout == b"1\n"
        relink(interpreter, "/usr/bin/true")
        assert jobs.wait_unavailable().startswith("canary: ")
        refused = jobs.run("print(2)")
        assert (refused.outcome, refused.stdout) == (FAILED, b"")
        assert refused.message.startswith("canary: ")
        relink(interpreter, "/usr/bin/python3")
        layers = {layer.name: layer.active for layer in jobs.wait_ready().layers}
        assert layers["canary"]
        assert jobs.run("print(3)").stdout == b"3\n"


def test_claim_10_what_runs_while_a_canary_fails_is_no_observation(
    tmp_path: Path, interpreter: Path
) -> None:
    home = write_linked(tmp_path / "home", interpreter, slots=2)
    with Execd(home, options=("--canary-ms", "400")) as execd:
        execd.wait_ready()
        jobs = ready(execd)
        running = run_sleeper(jobs)
        relink(interpreter, "/usr/bin/true")
        assert jobs.wait_unavailable().startswith("canary: ")
        done = jobs.wait(running)
        assert (done.outcome, done.stdout) == (FAILED, b"")
        assert "did not hold while this ran" in done.message
