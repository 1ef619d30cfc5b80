"""exec_worker KIND DEPTH SECONDS PROFILE: print("hello") again and again, one way."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable

from tests.bench import verl_way
from tests.bench.loop import Meter, by_processes, by_threads

CODE = 'print("hello")\n'
WARM_S = 1.0
PLAIN = ("/usr/bin/python3", "-I", "-c", CODE)


def warded_way(profile: str) -> Callable[[], None]:
    """Client, gate, executor, slot: as a trainer calls it, one action a call."""
    import warded

    channel = warded.connect(profile)

    def operate() -> None:
        (outcome,) = warded.run([CODE], channel=channel)
        check(outcome.observation)

    return operate


def plain_way() -> None:
    """A bare interpreter: no sandbox, no network, no record."""
    done = subprocess.run(PLAIN, capture_output=True, text=True, check=True)
    check(done.stdout)


def check(output: str) -> None:
    """Nobody wins by not doing it."""
    if output.strip() != "hello":
        raise SystemExit(f"not hello: {output!r}")


def choose(kind: str, profile: str) -> Callable[[], None]:
    """What `kind` does for one action."""
    if kind == "warded":
        return warded_way(profile)
    if kind == "plain":
        return plain_way
    if kind == "verl-tool":
        execute = verl_way.load_real(os.environ["VERL_TOOL_DIR"])
        return lambda: check(execute(CODE))
    return lambda: check(verl_way.execute(CODE, firejail=kind == "firejail"))


def main(kind: str, depth: int, seconds: float, profile: str) -> None:
    """Measure and say so."""
    operate = choose(kind, profile)
    spread = by_threads if kind == "warded" else by_processes  # each at its best
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # some leave things where they stand
        operate()
        meter = Meter(seconds, WARM_S)
        spread(meter, depth, operate)
        os.chdir("/")
    meter.print()


main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4])
