"""The Python tests: one pytest process over every folder of tests/ that has some.

The plugin beside this file (pytest_events.py) tells what it finds and what becomes of
it, a JSON object a line, through a pipe: a crash then loses one test and not the count.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from tests.runner import build
from tests.runner.model import BUILD, ROOT, Outcome, Result, failed
from tests.runner.process import Done, Watcher, run

TESTS = ROOT / "tests"
LIMIT_S = 3600.0

# Folders that must have tests: a suite that is gone is a failure.
EXPECTED = ("lint_faults", "platform", "client", "sandbox", "integration")

Event = dict[str, Any]


class PytestSuite:
    """Every test_*.py below tests/."""

    def __init__(self, watch: Watcher, *, long: bool) -> None:
        self._watch = watch
        self._python = Path("python3")
        self._long = long
        self._names: list[str] = []

    def prepare(self) -> list[Result]:
        """Make the venv and collect: what can't be collected is a failure."""
        self._python, problem = build.venv(self._watch)
        if problem is not None:
            return [failed("build.venv", problem.output, problem.seconds)]
        done, events = self._pytest(["--collect-only", "-q"], self._watch_events)
        self._names = [e["name"] for e in events if e["event"] == "collected"]
        broken = {e["name"]: e["text"] for e in events if e["event"] == "broken"}
        problems = [failed(name, text) for name, text in broken.items()]
        if done.code not in (0, 5) and not broken:
            problems.append(failed("pytest.collect", f"{done.how}\n{done.output}"))
        return problems + [failed(n, why) for n, why in self._empty(set(broken))]

    def names(self) -> list[str]:
        """pytest's own, below tests/: `integration/test_doors.py::test_no_token`."""
        return self._names

    def run(self, wanted: Sequence[str]) -> Iterator[Result]:
        """Run the wanted in one process; those it did not get to are failures."""
        inbox: SimpleQueue[Event | None] = SimpleQueue()
        outcome: list[Done] = []

        def work() -> None:
            done, _ = self._pytest([], inbox.put, only=wanted)
            outcome.append(done)
            inbox.put(None)

        thread = threading.Thread(target=work)
        thread.start()
        missing = dict.fromkeys(wanted)
        while (event := inbox.get()) is not None:
            if event["event"] == "started":
                self._watch(event["name"])
            elif event["event"] == "ended":
                missing.pop(event["name"], None)
                yield _result(event)
        thread.join()
        why = f"pytest {outcome[0].how} before this test's result\n"
        for name in missing:
            yield failed(name, why + outcome[0].output[-8000:])

    def _watch_events(self, event: Event) -> None:
        self._watch(f"collected {event['name']}")

    def _empty(self, broken: set[str]) -> Iterator[tuple[str, str]]:
        files = {name.split("::")[0] for name in self._names} | broken
        for path in sorted(TESTS.glob("*/**/test_*.py")):
            name = str(path.relative_to(TESTS))
            if name not in files:
                yield name, "pytest collects no test of this file"
        folders = {name.split("/")[0] for name in files}
        for folder in EXPECTED:
            if folder not in folders:
                yield folder, f"tests/{folder} has no tests"

    def _pytest(
        self, options: list[str], on_event: Any, only: Sequence[str] | None = None
    ) -> tuple[Done, list[Event]]:
        read, write = os.pipe()
        env = {
            "WARDED_BUILD": str(build.ASAN.path),
            "WARDED_TEST_EVENTS": str(write),
            "PYTHONPATH": f"{ROOT}:{build.ASAN.path / 'python'}",
            "PYTHONUNBUFFERED": "1",
        }
        if self._long:
            env["WARDED_LONG"] = "1"
        if only is not None:
            selection = BUILD / "pytest-only"
            selection.write_text("\n".join(only))
            env["WARDED_TEST_SELECTION"] = str(selection)
        command = [
            str(self._python),
            "-m",
            "pytest",
            "-p",
            "tests.runner.pytest_events",
        ]
        command += ["--continue-on-collection-errors", *options, str(TESTS)]
        inbox: SimpleQueue[Event] = SimpleQueue()
        reader = threading.Thread(
            target=_read, args=(read, inbox, on_event), daemon=True
        )
        reader.start()
        done = run(command, timeout_s=LIMIT_S, env=env, pass_fds=(write,))
        os.close(write)
        reader.join(5)
        return done, _drain(inbox)


def _read(fd: int, inbox: SimpleQueue[Event], on_event: Any) -> None:
    with os.fdopen(fd, encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            inbox.put(event)
            on_event(event)


def _drain(inbox: SimpleQueue[Event]) -> list[Event]:
    events = []
    while True:
        try:
            events.append(inbox.get_nowait())
        except Empty:
            return events


def _result(event: Event) -> Result:
    return Result(
        event["name"], Outcome(event["outcome"]), event["seconds"], event["text"]
    )
