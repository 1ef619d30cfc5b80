"""Unit tests: cmocka programs that ctest knows; each of their tests counts.

tests/support/cmocka_select.c, linked into every one, prints the names and chooses.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.runner import build
from tests.runner.model import BUILD, Lane, Outcome, Result, failed
from tests.runner.process import Done, Watcher, run

LIMIT_S = 300.0
TAP = re.compile(r"(not ok|ok) \d+ (-|# SKIP) (\w+)")
LISTED = re.compile(r"^test: (\w+)$", re.M)

# A sanitizer's finding ends the program, also when the program would catch SIGABRT.
SANITIZERS = {
    "ASAN_OPTIONS": "strict_string_checks=1:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
}


@dataclass(frozen=True, slots=True)
class Program:
    """One test program and the tests in it."""

    name: str
    command: tuple[str, ...]
    tests: tuple[str, ...]


class UnitSuite:
    """Every cmocka program of build/asan."""

    def __init__(self, watch: Watcher) -> None:
        self._watch = watch
        self._programs: list[Program] = []
        self._whole = False

    def prepare(self) -> list[Result]:
        """Build with ASan and ask each program for its tests."""
        done = build.build(build.ASAN, self._watch)
        if done.code != 0:
            return [failed("build.asan", done.output, done.seconds)]
        problems = []
        for name, command in self._known():
            program, problem = _ask(name, command)
            self._programs.append(program)
            problems += problem
        return problems

    def names(self) -> list[str]:
        """PROGRAM.TEST, as in `unit.token.revoked_token_is_refused`."""
        return [f"{p.name}.{t}" for p in self._programs for t in p.tests]

    def lanes(self, wanted: Sequence[str]) -> list[Lane]:
        """One: each program once, with the tests that are wanted of it."""
        return [Lane("unit", lambda: self._all(wanted))]

    def _all(self, wanted: Sequence[str]) -> Iterator[Result]:
        for program in self._programs:
            tests = [t for t in program.tests if f"{program.name}.{t}" in wanted]
            if tests:
                self._watch(program.name)
                yield from _run(program, tests, self._watch)

    def _known(self) -> list[tuple[str, tuple[str, ...]]]:
        shown = subprocess.run(
            ["ctest", "--show-only=json-v1"],
            cwd=build.ASAN.path,
            capture_output=True,
            text=True,
            check=True,
        )
        tests: list[dict[str, Any]] = json.loads(shown.stdout)["tests"]
        return [(t["name"], tuple(t.get("command", ()))) for t in tests]


def _ask(name: str, command: tuple[str, ...]) -> tuple[Program, list[Result]]:
    if not command or not Path(command[0]).exists():
        return Program(name, command, ()), [failed(name, "the program was not built")]
    env = {**SANITIZERS, "WARDED_TEST_LIST": "1"}
    done = run(command, timeout_s=LIMIT_S, env=env)
    tests = tuple(LISTED.findall(done.output))
    program = Program(name, command, tests)
    if done.code != 0 or not tests:
        why = f"{name} {done.how} and named {len(tests)} tests\n{done.output}"
        return program, [failed(name, why)]
    if len(set(tests)) != len(tests):
        return program, [failed(name, "two of its tests bear the same name")]
    return program, []


def _run(program: Program, tests: list[str], watch: Watcher) -> Iterator[Result]:
    env = {
        **SANITIZERS,
        "CMOCKA_MESSAGE_OUTPUT": "TAP",
        "WARDED_TEST_ONLY": " ".join(tests),
    }
    done = run(program.command, timeout_s=LIMIT_S, cwd=BUILD, env=env, watch=watch)
    said = _parse(done.output)
    share, cpu_s = done.seconds / len(tests), done.cpu_s / len(tests)
    for test in tests:
        name = f"{program.name}.{test}"
        outcome = said.get(test)
        if outcome is None:
            why = _explain(done, "the program ended before it")
            yield failed(name, why, share, cpu_s)
        else:
            output = done.output if outcome is Outcome.FAILED else ""
            why = output if outcome is Outcome.FAILED else ""
            yield Result(name, outcome, share, why, cpu_s)
    if done.code != 0 and all(said.get(t) is Outcome.PASSED for t in tests):
        yield failed(program.name, _explain(done, "every test passed, and yet"))


def _parse(output: str) -> dict[str, Outcome]:
    said: dict[str, Outcome] = {}
    for verdict, mark, test in TAP.findall(output):
        if verdict == "not ok":
            said[test] = Outcome.FAILED
        else:
            said.setdefault(test, Outcome.PASSED if mark == "-" else Outcome.SKIPPED)
    return said


def _explain(done: Done, why: str) -> str:
    return f"{why}: the program {done.how}\n{done.output}"
