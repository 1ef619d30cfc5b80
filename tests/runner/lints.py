"""Lint: each check is a test with a name; claim 13 of the first slice."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.runner import build
from tests.runner.model import Lane, Outcome, Result, failed
from tests.runner.process import Done, Watcher, run

LINT = Path(__file__).resolve().parents[1] / "lint"
LIMIT_S = 1500.0

Check = Callable[[Watcher], Done]


def _script(name: str, *arguments: str) -> Check:
    command = [*build.NICE, sys.executable, str(LINT / name), *arguments]
    return lambda watch: run(command, timeout_s=LIMIT_S, watch=watch)


def _tool(name: str, *arguments: str) -> Check:
    """A check that needs a program of the venv."""

    def check(watch: Watcher) -> Done:
        python, problem = build.venv(watch)
        if problem is not None:
            return problem
        env = {"PATH": f"{python.parent}:/usr/bin:/bin"}
        command = [*build.NICE, str(python), str(LINT / name), *arguments]
        return run(command, timeout_s=LIMIT_S, env=env, watch=watch)

    return check


def _builds(flavour: build.Flavour) -> Check:
    def check(watch: Watcher) -> Done:
        with build.held(flavour):
            return build.build(flavour, watch)

    return check


def _of(flavour: build.Flavour, make: Callable[..., Check], name: str) -> Check:
    """A check of what a build made; that the build succeeds is another's check."""

    def check(watch: Watcher) -> Done:
        with build.held(flavour):
            build.build(flavour, watch)
            return make(name, str(flavour.path))(watch)

    return check


# In this order: the cheap first, and the builds before what reads them.
CHECKS: dict[str, Check] = {
    "lint.words": _script("check_words.py"),
    "lint.readme": _script("check_readme.py"),
    "lint.docs": _script("check_docs.py"),
    "lint.commands": _script("check_commands.py"),
    "lint.suppressions": _script("check_suppressions.py"),
    "lint.kinds": _script("check_kinds.py"),
    "lint.layers": _script("check_layers.py"),
    "lint.sizes": _script("check_sizes.py"),
    "lint.clang_format": _script("check_format.py"),
    "lint.shellcheck": _script("check_shell.py"),
    "lint.ruff": _tool("check_ruff.py"),
    "lint.gcc_build": _builds(build.RELEASE),
    "lint.gcc_flags": _of(build.RELEASE, _script, "check_flags.py"),
    "lint.globals": _of(build.RELEASE, _script, "check_globals.py"),
    "lint.mypy": _of(build.RELEASE, _tool, "check_mypy.py"),
    "lint.clang_build": _builds(build.CLANG),
    "lint.clang_flags": _of(build.CLANG, _script, "check_flags.py"),
    "lint.call_writers": _of(build.CLANG, _script, "check_call_writers.py"),
    "lint.clang_tidy": _of(build.CLANG, _script, "check_tidy.py"),
}


class LintSuite:
    """Every check of the table above."""

    def __init__(self, watch: Watcher) -> None:
        self._watch = watch

    def prepare(self) -> list[Result]:
        """Nothing to do: a check that needs a build makes it."""
        return []

    def names(self) -> list[str]:
        """The table's names."""
        return list(CHECKS)

    def lanes(self, wanted: Sequence[str]) -> list[Lane]:
        """One: a build is made by the first check that needs it."""
        return [Lane("lint", lambda: self._run(wanted))]

    def _run(self, wanted: Sequence[str]) -> Iterator[Result]:
        for name in wanted:
            self._watch(name)
            done = CHECKS[name](self._watch)
            if done.code == 0:
                yield Result(name, Outcome.PASSED, done.seconds, cpu_s=done.cpu_s)
            else:
                why = f"{done.how}\n{done.output}"
                yield failed(name, why, done.seconds, done.cpu_s)
