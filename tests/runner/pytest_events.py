"""A pytest plugin: tells the runner what happens, and ends a test that hangs.

Where the runner asks for it, this process runs one file after another, as the runner
names them: several such processes share the files of a run.
"""

from __future__ import annotations

import itertools
import json
import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

# Seconds that one test may take, its fixtures apart; mark `limit(seconds)` for more.
LIMIT_S = 180


class TestHung(BaseException):
    """A test took longer than its limit."""


def _cpu() -> float:
    """Seconds of processors that this process and those it waited for have had."""
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    used = [resource.getrusage(who) for who in whose]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


class Events:
    """Writes events, a JSON object a line, to the runner's pipe."""

    def __init__(self, fd: int, files: int) -> None:
        os.set_inheritable(fd, False)
        os.set_inheritable(files, False)
        self._files = os.fdopen(files, encoding="utf-8")
        self._pid = os.getpid()
        self._fd = fd
        self._ended: dict[str, tuple[str, float, str]] = {}
        self._cpu = _cpu()

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Keep only the runner's selection."""
        path = os.environ.get("WARDED_TEST_SELECTION")
        if path is not None:
            wanted = set(Path(path).read_text().splitlines())
            dropped = [i for i in items if i.nodeid not in wanted]
            config.hook.pytest_deselected(items=dropped)
            items[:] = [i for i in items if i.nodeid in wanted]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Name what will run."""
        for item in session.items:
            alone = item.get_closest_marker("alone") is not None
            self._tell(event="collected", name=item.nodeid, alone=alone)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that can't be imported is a failure of its own."""
        if report.failed:
            self._tell(event="broken", name=report.nodeid, text=report.longreprtext)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Say what is running now."""
        self._ended[nodeid] = ("passed", 0.0, "")
        self._tell(event="started", name=nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Set-up, call and tear-down make one result: the worst of the three."""
        outcome, seconds, text = self._ended[report.nodeid]
        if report.failed:
            text += f"{report.when}:\n{report.longreprtext}\n"
            text += "".join(f"--- {name}\n{body}" for name, body in report.sections)
            outcome = "failed"
        elif report.skipped and outcome == "passed":
            outcome = "skipped"
        elif report.when == "call":
            text += report.capstdout  # what it has measured
        self._ended[report.nodeid] = (outcome, seconds + report.duration, text)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Hand the result over."""
        outcome, seconds, text = self._ended.pop(nodeid)
        before, self._cpu = self._cpu, _cpu()
        self._tell(
            event="ended",
            name=nodeid,
            outcome=outcome,
            seconds=seconds,
            cpu=self._cpu - before,
            text=text,
        )

    def next_file(self) -> str:
        """Ask the runner for a file; nothing when there is none left."""
        self._tell(event="next")
        return self._files.readline().strip()

    def _tell(self, **event: object) -> None:
        if os.getpid() == self._pid:  # a fork of a test has nothing to say
            os.write(self._fd, json.dumps(event).encode() + b"\n")


class Shared:
    """Runs the files that the runner names, instead of all."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """A file's last test is told of the next file, and ends what that won't use."""
        files: dict[str, list[pytest.Item]] = {"": []}
        for item in session.items:
            files.setdefault(item.nodeid.split("::")[0], []).append(item)
        items = files[self._events.next_file()]
        while items:
            for item, after in itertools.pairwise(items):
                _protocol(item, after)
            following = files[self._events.next_file()]
            _protocol(items[-1], following[0] if following else None)
            items = following
        return True


def _protocol(item: pytest.Item, following: pytest.Item | None) -> None:
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """End a test that hangs, with the stack where it hung."""
    marker = item.get_closest_marker("limit")
    seconds = marker.args[0] if marker else LIMIT_S

    def hung(number: int, frame: FrameType | None) -> None:
        raise TestHung(f"the test did not end within {seconds} s")

    before = signal.signal(signal.SIGALRM, hung)
    signal.alarm(seconds)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def pytest_configure(config: pytest.Config) -> None:
    """Register the teller when a runner listens."""
    fds = os.environ.pop("WARDED_TEST_FDS", None)
    if fds is not None:
        events = Events(*map(int, fds.split()))
        config.pluginmanager.register(events, "warded-events")
        if not config.option.collectonly:
            config.pluginmanager.register(Shared(events), "warded-shared")
