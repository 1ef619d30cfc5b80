"""Fuzz targets: each runs for a while from its seeds, two at a time.

A target is tests/fuzz/NAME.c and the program fuzz_NAME of build/fuzz. What a run has
found worth keeping stays in build/fuzz/kept/NAME, for the next one to begin with.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.runner import build
from tests.runner.model import ROOT, Lane, Outcome, Result, failed
from tests.runner.process import Done, Watcher, run

SOURCES = ROOT / "tests/fuzz"
SHORT_S, LONG_S = 20, 600
START_S = 60.0  # until a target that has its time behind it must have ended
AT_ONCE = 2
FEWEST = 50  # executions a second; fewer, and it has tested nothing

FUZZ = build.Flavour(
    "fuzz",
    "clang",
    (
        "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
        "-DWARDED_SANITIZE=address",
        "-DWARDED_FUZZ=ON",
    ),
)
# The claim that all targets prove: a pattern finds them by it, too.
CLAIM = "claim_01"

LIMITS = ("-timeout=5", "-rss_limit_mb=1024", "-malloc_limit_mb=256", "-seed=1")
EXECUTIONS = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
REPRODUCER = re.compile(r"Test unit written to (\S+)")

# Longest input; 4096 for the others. Only long texts show time that grows too fast.
MAX_LEN = {"payload": 16384, "routing": 1 << 16, "sp_stream": 20000, "jobs": 16384}


class FuzzSuite:
    """Every target, for 20 seconds or, in the long form, 10 minutes."""

    def __init__(self, watch: Watcher, *, long: bool) -> None:
        self._watch = watch
        self._seconds = LONG_S if long else SHORT_S

    def prepare(self) -> list[Result]:
        """Nothing yet: the targets are built when one is to run."""
        return []

    def names(self) -> list[str]:
        """fuzz.TARGET, from the files."""
        files = sorted(SOURCES.glob("*.c"))
        return [f"fuzz.{f.stem}" for f in files if f.stem != "checks"]

    def lanes(self, wanted: Sequence[str]) -> list[Lane]:
        """One, which builds them first and is two targets wide."""
        return [Lane("fuzz", lambda: self._run(wanted))]

    def _run(self, wanted: Sequence[str]) -> Iterator[Result]:
        done = _prepare(self._watch)
        if done.code != 0:
            for name in wanted:
                yield failed(name, f"could not be built\n{done.output}", done.seconds)
            return
        with ThreadPoolExecutor(AT_ONCE) as pool:
            yield from pool.map(self._one, wanted)

    def _one(self, name: str) -> Result:
        target = name.removeprefix("fuzz.")
        kept, seeds = FUZZ.path / "kept" / target, FUZZ.path / "seeds" / target
        kept.mkdir(parents=True, exist_ok=True)
        command = [
            str(FUZZ.path / f"bin/fuzz_{target}"),
            *LIMITS,
            f"-max_total_time={self._seconds}",
            f"-max_len={MAX_LEN.get(target, 4096)}",
            f"-artifact_prefix={FUZZ.path}/broken-{target}-",
            "-print_final_stats=1",
            str(kept),
            str(seeds),
        ]
        done = run(command, timeout_s=self._seconds + START_S, watch=self._say(name))
        return self._judge(name, done)

    def _say(self, name: str) -> Watcher:
        return lambda line: self._watch(f"{name}: {line}") if "exec/s" in line else None

    def _judge(self, name: str, done: Done) -> Result:
        found = EXECUTIONS.search(done.output)
        executions = int(found[1]) if found else 0
        if done.code != 0:
            return failed(name, _explain(done), done.seconds)
        if executions < FEWEST * self._seconds:
            few = f"only {executions} executions\n{done.output[-8000:]}"
            return failed(name, few, done.seconds)
        rate = executions / max(done.seconds, 0.001)
        with (FUZZ.path / "executions.txt").open("a") as report:
            report.write(f"{name} {executions} executions, {rate:.0f} a second\n")
        return Result(name, Outcome.PASSED, done.seconds, cpu_s=done.cpu_s)


def _prepare(watch: Watcher) -> Done:
    done = build.configure(FUZZ, watch)
    if done.code == 0:
        done = build.make(FUZZ, watch, "fuzz")
    if done.code == 0:
        (FUZZ.path / "executions.txt").unlink(missing_ok=True)
        done = run([sys.executable, SOURCES / "make_corpus.py", FUZZ.path / "seeds"])
    return done


def _explain(done: Done) -> str:
    """The end of what it said, and the input that broke it."""
    text = f"{done.how}\n{done.output[-12000:]}"
    found = REPRODUCER.search(done.output)
    if found and Path(found[1]).exists():
        data = Path(found[1]).read_bytes()
        text += f"\nreproducer: {found[1]}, {len(data)} bytes:\n{data[:4096].hex()}"
        text += "\n(cut to 4096 bytes)" if len(data) > 4096 else ""
    return text
