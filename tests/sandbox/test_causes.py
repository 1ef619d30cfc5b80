"""A cause is the kernel's evidence or our own: an action can't make one up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.jobs import CPU, ENDED, FILESIZE, MEMORY, NONE, PIDS, Jobs

MIB = 1 << 20
PRELUDE = "import os, resource, signal, sys, time\n"


@dataclass(frozen=True, slots=True)
class Case:
    """An action, how it must end, and which limit is told."""

    name: str
    code: str
    cause: int = NONE
    signal: int = 0
    exit: int | None = None
    limits: dict[str, Any] = field(default_factory=dict)


def itself(name: str) -> str:
    """Dies of a signal that it sends itself."""
    return (
        f"signal.signal(signal.{name}, signal.SIG_DFL)\n"
        f"os.kill(os.getpid(), signal.{name})"
    )


FORGED = [
    Case("file_size_by_signal", itself("SIGXFSZ"), signal=25),
    Case("cpu_by_signal", itself("SIGXCPU"), signal=24),
    Case("memory_by_signal", "os.kill(os.getpid(), 9)", signal=9),
    Case(
        "memory_by_a_childs_signal",
        "if os.fork() == 0: os.kill(os.getppid(), 9)\ntime.sleep(9)",
        signal=9,
    ),
    Case(
        "file_size_by_a_timer",
        """import ctypes
class Event(ctypes.Structure):
    _fields_ = [("value", ctypes.c_void_p), ("signal", ctypes.c_int),
                ("notify", ctypes.c_int), ("pad", ctypes.c_int * 12)]
signal.signal(25, signal.SIG_DFL)
event, timer = Event(None, 25, 0), ctypes.c_int()
libc = ctypes.CDLL(None)
assert libc.syscall(222, 0, ctypes.byref(event), ctypes.byref(timer)) == 0
libc.syscall(223, timer, 0, (ctypes.c_long * 4)(0, 0, 0, 1000000), None)
time.sleep(9)""",
        signal=25,
    ),
    Case(
        "file_size_by_a_lower_limit",
        """resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
os.write(os.open("/work/x", os.O_CREAT | os.O_WRONLY), b"x" * 11)
os.write(os.open("/work/x", os.O_APPEND | os.O_WRONLY), b"x")""",
        signal=25,
    ),
    Case(
        "cpu_by_a_lower_limit",
        "resource.setrlimit(resource.RLIMIT_CPU, (1, 1))\nwhile True: pass",
        signal=9,
    ),
    Case(
        "memory_by_a_lower_limit",
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28))\nb'x' * (1 << 29)",
        exit=1,
    ),
    Case(
        "processes_by_a_lower_limit",
        "resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))\nos.fork()",
        exit=1,
    ),
    Case(
        "killed_in_words", "print('Killed', file=sys.stderr); sys.exit(137)", exit=137
    ),
    *[
        Case(f"status_{n}", f"os._exit({n})", exit=n)
        for n in (9, 24, 25, 128, 152, 153)
    ],
]

TRUE = [
    Case(
        "file_size",
        """signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
file = os.open("/work/x", os.O_CREAT | os.O_WRONLY)
while True: os.write(file, b"x" * (1 << 20))""",
        cause=FILESIZE,
        signal=25,
        limits={"files_bytes": 4 * MIB},
    ),
    Case("cpu", "while True: pass", CPU, 9, None, {"cpu_ms": 300}),
    Case("memory", "x = b'x' * (1 << 28)", MEMORY, 9, None, {"memory_bytes": 64 * MIB}),
    Case("processes", "while True: os.fork()", PIDS, 0, 1, {"pids": 8}),
]


@pytest.mark.parametrize("case", FORGED, ids=[c.name for c in FORGED])
def test_claim_11_a_forged_cause_is_not_told(case: Case, jobs: Jobs) -> None:
    done = jobs.run(PRELUDE + case.code, **case.limits)
    assert (done.outcome, done.signal, done.code) == (ENDED, case.signal, case.exit)
    assert done.cause == NONE


@pytest.mark.parametrize("case", TRUE, ids=[c.name for c in TRUE])
def test_claim_11_a_true_cause_is_told(case: Case, jobs: Jobs) -> None:
    done = jobs.run(PRELUDE + case.code, **case.limits)
    assert (done.outcome, done.cause) == (ENDED, case.cause)
    assert done.signal == case.signal
