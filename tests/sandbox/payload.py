"""What one hostile action is, how it must end, and how that is proved.

The attacks are in payloads/, a file per layer. Each prints "held NAME" for an attempt
that failed and "LEAK NAME ..." for one that did not; what is printed must be exactly
what is expected, so that an attempt that was never made is noticed too.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.jobs import NONE, Done

PAYLOADS = Path(__file__).parent / "payloads"

PRELUDE = """\
import ctypes, errno, os, sys
LIBC = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    result = LIBC.syscall(ctypes.c_long(number), *[
        ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
def attempt(name, attack, *arguments):
    try:
        result = attack(*arguments)
    except BaseException as error:
        print("held", name)
        print(f"{name}: {error!r:.100}", file=sys.stderr)
    else:
        print("LEAK", name, repr(result)[:100])
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """One attack; `$NAME` in its code stands for bait of the test."""

    name: str
    layers: tuple[str, ...]  # what stops it, the first one first: names of the program
    proof: str  # how the test knows
    code: str
    how: str = ""  # the layer does that
    without: str = (
        ""  # the wall, or WALL+WALL, of slot_without.c without which it is not
    )
    # held; or one of these two:
    wider: dict[str, Any] = field(
        default_factory=dict
    )  # limits: it gets so much further
    untried: str = ""  # why nothing is taken away
    held: tuple[str, ...] | None = ()  # standard output, exactly; None: see `check`
    exit: int | None = 0  # None: see signal, or `check`
    signal: int = 0
    cause: int | tuple[int, ...] = NONE
    leftovers: int | None = None  # at least; None: exactly 0
    within_ms: int = 10_000  # run time
    limits: dict[str, Any] = field(default_factory=dict)
    check: Callable[[Done], bool] | None = None
    then: str | None = None  # a second action, after it: prints "clean", exits 0
    bare: bool = False  # without the prelude


def load() -> list[tuple[str, Payload]]:
    """Every payload and its identifier: file and name."""
    found = []
    for path in sorted(PAYLOADS.glob("[a-z]*.py")):
        module = importlib.import_module(f"tests.sandbox.payloads.{path.stem}")
        for payload in module.PAYLOADS:
            found.append((f"{path.stem}-{payload.name}", payload))
    return found


def problems(payload: Payload, done: Done) -> list[str]:
    """What is not as it must be; empty: it held."""
    wrong = []
    lines = tuple(done.stdout.decode("utf-8", "replace").splitlines())
    expected = payload.held
    if expected is not None and lines != tuple(f"held {name}" for name in expected):
        wrong.append(f"printed {lines}, not held {expected}")
    if "LEAK" in done.stdout.decode("utf-8", "replace"):
        wrong.append("something leaked")
    if payload.signal != done.signal and payload.check is None:
        wrong.append(f"signal {done.signal}, not {payload.signal}")
    if payload.exit is not None and not payload.signal and done.code != payload.exit:
        wrong.append(f"exit {done.code}, not {payload.exit}")
    causes = payload.cause if isinstance(payload.cause, tuple) else (payload.cause,)
    if done.cause not in causes:
        wrong.append(f"cause {done.cause}, not one of {causes}")
    if payload.leftovers is None and done.leftovers and not done.signal:
        wrong.append(f"{done.leftovers} leftovers")
    if payload.leftovers is not None and done.leftovers < payload.leftovers:
        wrong.append(f"{done.leftovers} leftovers, not {payload.leftovers} or more")
    if done.run_us > payload.within_ms * 1000:
        wrong.append(f"took {done.run_us} us, not {payload.within_ms} ms")
    if payload.check is not None and not payload.check(done):
        wrong.append("its own check failed")
    return wrong
