"""A pytest plugin: tells the runner what happens, and ends a test that hangs."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

# Seconds that one test may take, its fixtures apart; mark `limit(seconds)` for more.
LIMIT_S = 180


class TestHung(BaseException):
    """A test took longer than its limit."""


class Events:
    """Writes events, a JSON object a line, to the runner's pipe."""

    def __init__(self, fd: int) -> None:
        os.set_inheritable(fd, False)
        self._pid = os.getpid()
        self._fd = fd
        self._ended: dict[str, tuple[str, float, str]] = {}

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
            self._tell(event="collected", name=item.nodeid)

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
        self._ended[report.nodeid] = (outcome, seconds + report.duration, text)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Hand the result over."""
        outcome, seconds, text = self._ended.pop(nodeid)
        self._tell(
            event="ended", name=nodeid, outcome=outcome, seconds=seconds, text=text
        )

    def _tell(self, **event: object) -> None:
        if os.getpid() == self._pid:  # a fork of a test has nothing to say
            os.write(self._fd, json.dumps(event).encode() + b"\n")


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
    fd = os.environ.pop("WARDED_TEST_EVENTS", None)
    if fd is not None:
        config.pluginmanager.register(Events(int(fd)), "warded-events")
