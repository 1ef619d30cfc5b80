"""Processes that fork with a live channel: both go on."""

from __future__ import annotations

import multiprocessing as mp
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import warded
from warded import v1

from tests.client.echo import child, child_that_acts, echo, run_action
from tests.client.pki import Authority, make_profile

TIMES = 50
ACTS = 10  # every so many of them runs an action too, and so does its parent meanwhile
ROOT = Path(__file__).parents[2]


@pytest.fixture
def real(trainer: Path) -> Iterator[warded.Channel]:
    """A live channel to a real gate."""
    with warded.connect(trainer) as channel:
        assert echo(channel, 1) == 1
        yield channel


@pytest.fixture
def channel(
    tmp_path: Path, authority: Authority, gate_folder: Path
) -> Iterator[warded.Channel]:
    """A live channel to a fake gate in a process of its own."""
    command = [sys.executable, "-m", "tests.client.fake_gate", str(gate_folder)]
    gate = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    )
    assert gate.stdin is not None
    assert gate.stdout is not None
    port = int(gate.stdout.readline())
    profile = make_profile(tmp_path / "profile", authority, f"127.0.0.1:{port}")
    with warded.connect(profile) as channel:
        assert echo(channel, 1) == 1
        yield channel
    gate.communicate()


def calls_meanwhile(channel: warded.Channel) -> Callable[[], None]:
    """The parent goes on calling from a thread; the result stops it and checks it."""
    stop, wrong = threading.Event(), list[str]()

    def work() -> None:
        size = 1000
        while not stop.is_set():
            size += 1
            if echo(channel, size) != size:
                wrong.append(f"{size}")

    thread = threading.Thread(target=work)
    thread.start()

    def finish() -> None:
        stop.set()
        thread.join()
        assert not wrong

    return finish


@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded")
def test_claim_12_os_fork_goes_on_in_both(real: warded.Channel) -> None:
    finish = calls_meanwhile(real)
    for n in range(TIMES):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                (child if n % ACTS else child_that_acts)(real, n)
                code = 0
            finally:
                os._exit(code)
        assert echo(real, n + 500) == n + 500
        if n % ACTS == 0:
            run_action(real, n + 500)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    finish()


@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded")
@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_claim_12_multiprocessing_goes_on_in_both(
    real: warded.Channel, method: str
) -> None:
    context: Any = mp.get_context(method)
    finish = calls_meanwhile(real)
    for first in range(0, TIMES, 2):
        acts = first % ACTS == 0
        work = child_that_acts if acts else child
        pair = [
            context.Process(target=work, args=(real, n)) for n in (first, first + 1)
        ]
        for process in pair:
            process.start()
        assert echo(real, first + 500) == first + 500
        if acts:
            run_action(real, first + 500)
        for process in pair:
            process.join(60)
            assert process.exitcode == 0
    finish()


@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded")
def test_a_child_may_fork_again(channel: warded.Channel) -> None:
    def grandchild() -> None:
        child(channel, 7)
        process = mp.get_context("fork").Process(target=child, args=(channel, 8))
        process.start()
        process.join(30)
        assert process.exitcode == 0

    process = mp.get_context("fork").Process(target=grandchild)
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert echo(channel, 3) == 3


@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded")
def test_a_future_of_the_parent_is_forked_in_the_child(
    channel: warded.Channel,
) -> None:
    stub = v1.HealthStub(channel)
    call = stub.Check.future(v1.HealthCheckRequest(padding=bytes(1 << 20)))
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            try:
                call.result()
            except warded.InvalidCall as error:
                code = 0 if error.reason is warded.Reason.FORKED else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert len(call.result().padding) == 1 << 20


def test_a_channel_is_a_value(channel: warded.Channel) -> None:
    again = pickle.loads(pickle.dumps(channel))
    assert again == channel
    assert hash(again) == hash(channel)
    assert echo(again, 5) == 5


def test_errors_are_picklable(channel: warded.Channel) -> None:
    with pytest.raises(warded.InvalidCall) as caught:
        v1.HealthStub(channel).Check(v1.HealthCheckRequest(), metadata={"A": ""})
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is warded.InvalidCall
    assert str(again) == str(caught.value)


EXITS = {
    "idle": "",
    "in flight": "stub.Check.future(v1.HealthCheckRequest(padding=bytes(1 << 20)))",
    "waiting": "stub.Check.future(v1.HealthCheckRequest(), wait_for_ready=True)",
    "other threads": (
        "[threading.Thread(target=lambda: [stub.Check(v1.HealthCheckRequest()) "
        "for _ in range(50)]).start() for _ in range(8)]"
    ),
}


@pytest.mark.parametrize("last_words", EXITS.values(), ids=EXITS.keys())
def test_the_interpreter_exits_cleanly(
    channel: warded.Channel, last_words: str
) -> None:
    program = (
        "import threading, warded\n"
        "from warded import v1\n"
        f"channel = warded.connect({channel.profile!r})\n"
        "stub = v1.HealthStub(channel)\n"
        "stub.Check(v1.HealthCheckRequest())\n"
        f"{last_words}\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
