"""Races: what has threads, built with TSan into build/tsan.

race.PROGRAM is a cmocka program of tests/unit, race.FILE the tests of one Python file
over the stub gate; in the long form that again and again, with the counts of the short
one: what is new is another order of things, not more of them. NNG and mbedTLS are
Debian's: what they do to our memory is not seen, but their locks are. Nothing is
suppressed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.runner import build
from tests.runner.model import ROOT, Lane, Outcome, Result, failed
from tests.runner.process import Done, Watcher, run

# With optimisation: TSan sees what the compiler made of it, and is slow enough.
OPTIONS = ("-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DWARDED_SANITIZE=thread")
TSAN = build.Flavour("tsan", "gcc", OPTIONS)
LIMIT_S, LONG_LIMIT_S = 180.0, 900.0
LONG_S = 200  # of each file, in the long form
LONGER_S = {"test_c_client": 600, "test_gate_calls": 600}  # client and gate themselves
CLAIM = "claim_05"  # what all of this proves

# A unit starts threads when its file names one of these, or when it is named here.
STARTS = re.compile(
    r"(gate|writer|link|segments|prune)_fixture\.h|store_script\.h|pthread_create"
    r"|wd_writer_|wd_archive_start|wd_checkpointer_|wd_audit_verify"
)
PREFIX = {"tls": "tls_", "server": "gate_", "store": ""}
STARTS_BELOW = ("gate_queues", "store_audit", "store_reader", "store_table")
# In the long form alone: one fault after the other, in what the others do without.
SLOW = ("store_no_memory", "store_pages", "store_script")

# A file of tests/integration has the stub gate when it, or a fixture that it asks for,
# starts one.
STUB = re.compile(r"\bStubGate\b|\b(stub|caller|scene): (RawClient|Scene)")
# What says nothing about races, and why.
NOT_RACED = {
    "test_crashes": "gates are killed, which leaves no report",
    "test_gate_start": "gates that do not start: no thread is there yet",
    "test_once": "gates are killed, which leaves no report",
    "test_tokctl_golden": "compares texts of tokctl",
    "test_tokctl_terminal": "compares texts of tokctl",
}
# In the short form: those that have other threads to do, or other work for them, than
# the ones above them; and which of their tests, as pytest's -k has it.
SHORT = {
    "test_gate_calls": "",
    "test_gate_guesses": "",
    "test_gate_record": "",
    "test_gate_parked": "",
    "test_c_client": "",
    "test_gate_reload": "",
    "test_gate_refusals": "",
    "test_kept_replies": "",
    "test_gate_silence": "",
    "test_gate_crowd": "several_who_do_not_read",
    "test_audit_export": "",
    "test_checkpoints": "",
}
# kill -9 leaves no report, and this one wants replies sooner than TSan lets them come.
NOT = "not kills_under_load"
TOOLS = ("test_gate", "warded", "tokctl", "rpc_caller", "store_rows", "warded_whoami")
PYTEST = ("-m", "pytest", "-q", "-x", "-p", "tests.runner.pytest_events")

REPORT = re.compile(r"WARNING: ThreadSanitizer|SUMMARY: ThreadSanitizer")


def units() -> list[str]:
    """The programs of tests/unit that start threads."""
    found = set(STARTS_BELOW)
    for room, prefix in PREFIX.items():
        for path in (ROOT / "tests/unit" / room).glob("test_*.c"):
            if STARTS.search(path.read_text()):
                found.add(prefix + path.stem.removeprefix("test_"))
    return sorted(found)


def gates() -> list[str]:
    """The files of tests/integration whose gate is the stub one, with real NNG."""
    files = sorted((ROOT / "tests/integration").glob("test_*.py"))
    found = [path.stem for path in files if STUB.search(path.read_text())]
    assert {*NOT_RACED, *SHORT} <= {*found}, "a file that is named here is not there"
    return [name for name in found if name not in NOT_RACED]


class RaceSuite:
    """The units; of the files SHORT, and all in the long form."""

    def __init__(self, watch: Watcher, *, long: bool) -> None:
        self._watch = watch
        self._long = long
        self._limit_s = LONG_LIMIT_S if long else LIMIT_S
        self._units = [name for name in units() if long or name not in SLOW]
        self._gates = gates() if long else [name for name in gates() if name in SHORT]

    def prepare(self) -> list[Result]:
        """Nothing yet: it is built when one is to run."""
        return []

    def names(self) -> list[str]:
        """race.NAME."""
        return [f"race.{name}" for name in (*self._units, *self._gates)]

    def lanes(self, wanted: Sequence[str]) -> list[Lane]:
        """One, which builds them first."""
        return [Lane("race", lambda: self._run(wanted))]

    def _run(self, wanted: Sequence[str]) -> Iterator[Result]:
        done, python = _prepare(self._watch, self._units)
        for name in wanted:
            if done.code != 0:
                yield failed(name, f"could not be built\n{done.output}", done.seconds)
                continue
            self._watch(name)
            yield self._one(name, python)

    def _one(self, name: str, python: Path) -> Result:
        short = name.removeprefix("race.")
        if short in self._units:
            program = str(TSAN.path / f"bin/test_{short}")
            return judge(name, under_tsan(self._limit_s, program))
        file = str(ROOT / f"tests/integration/{short}.py")
        end = time.monotonic()
        end += LONGER_S.get(short, LONG_S) if self._long else 0
        only = NOT if self._long or not SHORT[short] else f"({SHORT[short]}) and {NOT}"
        while True:
            done = under_tsan(self._limit_s, str(python), *PYTEST, "-k", only, file)
            result = judge(name, done)
            if result.outcome is Outcome.FAILED or time.monotonic() > end:
                return result


def _prepare(watch: Watcher, units: Sequence[str]) -> tuple[Done, Path]:
    python, problem = build.venv(watch)
    if problem is not None:
        return problem, python
    done = build.configure(TSAN, watch)
    if done.code == 0:
        targets = [*TOOLS, "python_stubs", *(f"test_{unit}" for unit in units)]
        done = build.make(TSAN, watch, *targets)
    return done, python


def under_tsan(limit_s: float, *command: str) -> Done:
    env = {
        "TSAN_OPTIONS": "history_size=4:second_deadlock_stack=1:atexit_sleep_ms=100",
        "WARDED_BUILD": str(TSAN.path),
        "PYTHONPATH": f"{ROOT}:{TSAN.path}/python",
    }
    return run(("env", "-u", "WARDED_LONG", *command), timeout_s=limit_s, env=env)


def judge(name: str, done: Done) -> Result:
    if done.code == 0 and not REPORT.search(done.output):
        return Result(name, Outcome.PASSED, done.seconds, cpu_s=done.cpu_s)
    return failed(name, f"{done.how}\n{done.output}", done.seconds, done.cpu_s)
