"""The Python tests: pytest processes that share the files of every folder of tests/.

The plugin beside this file (pytest_events.py) tells what it finds and what becomes of
it, a JSON object a line, through a pipe: a crash then loses one test and not the count.
"""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from tests.runner import build
from tests.runner.model import AT_ONCE, BUILD, ROOT, Lane, Outcome, Result, failed
from tests.runner.process import Done, EndingError, Watcher, run

TESTS = ROOT / "tests"
LIMIT_S, LONG_S = 3600.0, 8 * 3600.0

# Folders that must have tests: a suite that is gone is a failure.
EXPECTED = ("lint_faults", "platform", "client", "sandbox", "integration")

# Whose files take longest: begun last, one of them would be waited for.
FIRST = "integration"

Event = dict[str, Any]
OnEvent = Callable[[Event], str | None]


class PytestSuite:
    """Every test_*.py below tests/."""

    def __init__(self, watch: Watcher, *, long: bool) -> None:
        self._watch = watch
        self._python = Path("python3")
        self._long = long
        self._names: list[str] = []
        self._alone: set[str] = set()

    def prepare(self) -> list[Result]:
        """Make the venv and collect: what can't be collected is a failure."""
        self._python, problem = build.venv(self._watch)
        if problem is not None:
            return [failed("build.venv", problem.output, problem.seconds)]
        events: list[Event] = []
        done = self._pytest(["--collect-only", "-q"], events.append)
        found = [e for e in events if e["event"] == "collected"]
        self._names = [e["name"] for e in found]
        self._alone = {e["name"] for e in found if e["alone"]}
        broken = {e["name"]: e["text"] for e in events if e["event"] == "broken"}
        problems = [failed(name, text) for name, text in broken.items()]
        if done.code not in (0, 5) and not broken:
            problems.append(failed("pytest.collect", f"{done.how}\n{done.output}"))
        return problems + [failed(n, why) for n, why in self._empty(set(broken))]

    def names(self) -> list[str]:
        """pytest's own, below tests/: `integration/test_doors.py::test_no_token`."""
        return self._names

    def lanes(self, wanted: Sequence[str]) -> list[Lane]:
        """As many as there may be, which share the files; and those that run alone."""
        wanted = sorted(wanted, key=lambda name: name.split("/")[0] != FIRST)
        alone = [name for name in wanted if name in self._alone]
        shared = Files("shared", [name for name in wanted if name not in self._alone])
        lanes = [
            Lane("python", partial(self._work, shared), helps=number > 0)
            for number in range(min(AT_ONCE, len(shared)))
        ]
        if alone:
            files = Files("alone", alone)
            lanes.append(Lane("python", partial(self._work, files), alone=True))
        return lanes

    def _work(self, files: Files) -> Iterator[Result]:
        """Run files until none is left; a pytest that ends too soon is replaced."""
        while len(files):
            held: dict[str, None] = {}
            taken = len(files)
            inbox: SimpleQueue[Event | Done | None] = SimpleQueue()
            args = (files, held, inbox)
            threading.Thread(target=self._process, args=args, daemon=True).start()
            while isinstance(event := inbox.get(), dict):
                held.pop(event["name"], None)
                yield _result(event)
            if event is None:
                raise EndingError
            if taken == len(files) and not held:
                held = files.rest()  # it did not even begin
            why = f"pytest {event.how} before this test's result\n"
            for name in held:
                yield failed(name, why + event.output[-8000:])

    def _process(
        self,
        files: Files,
        held: dict[str, None],
        inbox: SimpleQueue[Event | Done | None],
    ) -> None:
        """One pytest: its results, then how it ended; None: all is to end."""

        def on_event(event: Event) -> str | None:
            if event["event"] == "next":
                return files.take(held)
            if event["event"] == "started":
                self._watch(event["name"])
            elif event["event"] == "ended":
                inbox.put(event)
            return None

        try:
            inbox.put(self._pytest([], on_event, files.selection))
        except EndingError:
            inbox.put(None)

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
        self, options: list[str], on_event: OnEvent, selection: Path | None = None
    ) -> Done:
        env = {
            "WARDED_BUILD": str(build.ASAN.path),
            "PYTHONPATH": f"{ROOT}:{build.ASAN.path / 'python'}",
            "PYTHONUNBUFFERED": "1",
        }
        if self._long:
            env["WARDED_LONG"] = "1"
        if selection is not None:
            env["WARDED_TEST_SELECTION"] = str(selection)
        command = [str(self._python), "-m", "pytest"]
        command += ["-p", "tests.runner.pytest_events"]
        command += ["--continue-on-collection-errors", *options, str(TESTS)]
        return _talk(command, env, on_event, LONG_S if self._long else LIMIT_S)


class Files:
    """The files whose tests are still to run: each lane takes one after another."""

    def __init__(self, name: str, tests: Sequence[str]) -> None:
        """`name`: of the file in build/ that names the tests."""
        self._lock = threading.Lock()
        self._files: dict[str, list[str]] = {}
        for test in tests:
            self._files.setdefault(test.split("::")[0], []).append(test)
        self.selection = BUILD / f"pytest-{name}"
        self.selection.write_text("\n".join(tests))

    def __len__(self) -> int:
        """How many files are left."""
        with self._lock:
            return len(self._files)

    def take(self, held: dict[str, None]) -> str:
        """The next one, nothing when there is none; its tests are now in `held`."""
        with self._lock:
            for name in self._files:
                held.update(dict.fromkeys(self._files.pop(name)))
                return name
            return ""

    def rest(self) -> dict[str, None]:
        """The tests of all that are left; none is now."""
        with self._lock:
            rest = dict.fromkeys(itertools.chain(*self._files.values()))
            self._files.clear()
            return rest


def _talk(
    command: list[str], env: dict[str, str], on_event: OnEvent, limit_s: float
) -> Done:
    """Run pytest; on_event's text, if any, is the answer to an event."""
    events, tell = os.pipe()
    listen, answers = os.pipe()

    def read() -> None:
        with os.fdopen(events, encoding="utf-8") as lines:
            for line in lines:
                answer = on_event(json.loads(line))
                if answer is not None:
                    os.write(answers, f"{answer}\n".encode())

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        env["WARDED_TEST_FDS"] = f"{tell} {listen}"
        return run(command, timeout_s=limit_s, env=env, pass_fds=(tell, listen))
    finally:
        os.close(tell)
        reader.join(5)
        os.close(listen)
        os.close(answers)


def _result(event: Event) -> Result:
    return Result(
        event["name"],
        Outcome(event["outcome"]),
        event["seconds"],
        event["text"],
        event["cpu"],
    )
