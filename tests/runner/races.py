"""Races: what has threads, built with TSan into build/tsan.

race.PROGRAM is a cmocka program of tests/unit, race.FILE the tests of one Python file
over the stub gate, in the long form again and again. NNG and mbedTLS are Debian's: what
they do to our memory is not seen, but their locks are. Nothing is suppressed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.runner import build
from tests.runner.model import ROOT, Outcome, Result, failed
from tests.runner.process import Done, Watcher, run

# With optimisation: TSan sees what the compiler made of it, and is slow enough.
OPTIONS = ("-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DWARDED_SANITIZE=thread")
TSAN = build.Flavour("tsan", "gcc", OPTIONS)
LIMIT_S = 180.0
LONG_S = 200  # of each file, in the long form

# The units that start threads: writer, queues, link, the engine of NNG.
UNITS = (
    "gate_executor_link",
    "gate_queues",
    "gate_rejects",
    "store_audit",
    "store_checkpoint",
    "store_faults",
    "store_reader",
    "store_table",
    "store_writer",
    "tls_doors",
    "tls_engine",
    "tls_limits",
    "tls_together",
)
# Files of tests/integration whose gate is the stub one, with real NNG.
GATES = (
    "test_gate_calls",
    "test_gate_guesses",
    "test_gate_record",
    "test_gate_parked",
    "test_c_client",
)
# kill -9 leaves no report, and this one wants replies sooner than TSan lets them come.
NOT = "not kills_under_load"
TOOLS = ("test_gate", "warded", "tokctl", "rpc_caller", "warded_whoami")
PROGRAMS = (*TOOLS, *(f"test_{unit}" for unit in UNITS))

REPORT = re.compile(r"WARNING: ThreadSanitizer|SUMMARY: ThreadSanitizer")


class RaceSuite:
    """The two lists above."""

    def __init__(self, watch: Watcher, *, long: bool) -> None:
        self._watch = watch
        self._seconds = LONG_S if long else 0

    def prepare(self) -> list[Result]:
        """Nothing yet: it is built when one is to run."""
        return []

    def names(self) -> list[str]:
        """race.NAME, from the lists."""
        return [f"race.{name}" for name in (*UNITS, *GATES)]

    def run(self, wanted: Sequence[str]) -> Iterator[Result]:
        """Build, and run the wanted ones one by one."""
        if not wanted:
            return
        done, python = _prepare(self._watch)
        for name in wanted:
            if done.code != 0:
                yield failed(name, f"could not be built\n{done.output}", done.seconds)
                continue
            self._watch(name)
            yield self._one(name, python)

    def _one(self, name: str, python: Path) -> Result:
        short = name.removeprefix("race.")
        if short in UNITS:
            return _judge(name, _run(str(TSAN.path / f"bin/test_{short}")))
        file = str(ROOT / f"tests/integration/{short}.py")
        end = time.monotonic() + self._seconds
        while True:
            done = _run(str(python), "-m", "pytest", "-q", "-x", "-k", NOT, file)
            result = _judge(name, done)
            if result.outcome is Outcome.FAILED or time.monotonic() > end:
                return result


def _prepare(watch: Watcher) -> tuple[Done, Path]:
    python, problem = build.venv(watch)
    if problem is not None:
        return problem, python
    done = build.configure(TSAN, watch)
    if done.code == 0:
        command = ["ninja", "-C", str(TSAN.path), *PROGRAMS, "python_stubs"]
        done = run(command, timeout_s=build.BUILD_LIMIT_S, watch=watch)
    return done, python


def _run(*command: str) -> Done:
    env = {
        "TSAN_OPTIONS": "history_size=4:second_deadlock_stack=1:atexit_sleep_ms=100",
        "WARDED_BUILD": str(TSAN.path),
        "PYTHONPATH": f"{ROOT}:{TSAN.path}/python",
    }
    return run(command, timeout_s=LIMIT_S, env=env)


def _judge(name: str, done: Done) -> Result:
    if done.code == 0 and not REPORT.search(done.output):
        return Result(name, Outcome.PASSED, done.seconds)
    return failed(name, f"{done.how}\n{done.output}", done.seconds)
