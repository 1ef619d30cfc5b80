"""What a person sees while the tests run, and the closing line.

Every lane tells it what happens, each from a thread of its own.
"""

from __future__ import annotations

import re
import resource
import shutil
import sys
import threading
import time
from collections import Counter

from tests.runner.model import BUILD, Outcome, Result

# How long each test took, and of processors; the longest first.
TIMES = BUILD / "times.txt"

# Seconds between two signs of life where the output is no terminal.
QUIET_S = 20.0
MOST_SAID = 12  # lines of what a test that passed has printed


class Progress:
    """Prints results as they come and remembers the failures."""

    def __init__(self) -> None:
        self.total = 0
        self.counts: Counter[Outcome] = Counter()
        self.failures: list[Result] = []
        self.results: list[Result] = []
        self._lock = threading.RLock()
        self._terminal = sys.stdout.isatty()
        self._start = self._last = time.monotonic()

    def title(self, text: str) -> None:
        """Announce a step."""
        self._print(f"== {text}")

    def doing(self, text: str) -> None:
        """A passing sign of life: what is going on right now."""
        with self._lock:
            if self._terminal:
                width = shutil.get_terminal_size().columns - 1
                print(f"\r{text[:width]}\033[K", end="", flush=True)
            elif time.monotonic() - self._last > QUIET_S:
                self._print(f"   ... {text[:100]}")

    def result(self, result: Result) -> None:
        """Count a result and print its line."""
        with self._lock:
            self.counts[result.outcome] += 1
            self.results.append(result)
            done = sum(self.counts.values())
            mark = result.outcome.value
            if result.outcome is Outcome.FAILED:
                self.failures.append(result)
                mark = "FAILED"
            self.total = max(self.total, done)
            line = f"{done:4}/{self.total} {mark:7} {result.seconds:6.1f} s"
            self._print(f"{line}  {result.name}")
            if result.outcome is Outcome.PASSED:  # what it has measured
                for said in result.output.splitlines()[:MOST_SAID]:
                    self._print(f"{'':10}{said}")

    def close(self) -> int:
        """Print failures with their output and the closing line; the exit status."""
        for result in self.failures:
            self._print(f"\n--- FAILED {result.name}\n{result.output.rstrip()}")
        if self.failures:
            names = "\n".join(f"  {r.name}" for r in self.failures)
            self._print(f"\nFailed:\n{names}")
        self._times()
        passed, bad, skipped = (self.counts[outcome] for outcome in Outcome)
        self._print(f"{passed} passed, {bad} failed, {skipped} skipped")
        return 1 if bad or not passed else 0

    def _times(self) -> None:
        """By kind of test, what the builds took aside; each test's to a file."""
        kinds: dict[str, list[Result]] = {}
        for result in self.results:
            kind = re.split("[./]", result.name, maxsplit=1)[0]
            kinds.setdefault(kind, []).append(result)
        self._print(f"\n{'tests':>6} {'seconds':>8} {'of CPU':>8}")
        for kind, of_it in kinds.items():
            seconds = sum(result.seconds for result in of_it)
            cpu_s = sum(result.cpu_s for result in of_it)
            self._print(f"{len(of_it):6} {seconds:8.0f} {cpu_s:8.0f}  {kind}")
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        all_s, cpu_s = time.monotonic() - self._start, used.ru_utime + used.ru_stime
        self._print(f"       {all_s:8.0f} {cpu_s:8.0f}  all, with what was built")
        by_time = sorted(self.results, key=lambda result: -result.seconds)
        lines = (f"{r.seconds:8.2f} {r.cpu_s:8.2f}  {r.name}\n" for r in by_time)
        TIMES.write_text("".join(lines))

    def _print(self, text: str) -> None:
        clear = "\r\033[K" if self._terminal else ""
        with self._lock:
            print(f"{clear}{text}", flush=True)
            self._last = time.monotonic()
