"""What a person sees while the tests run, and the closing line."""

from __future__ import annotations

import shutil
import sys
import time
from collections import Counter

from tests.runner.model import Outcome, Result

# Seconds between two signs of life where the output is no terminal.
QUIET_S = 20.0


class Progress:
    """Prints results as they come and remembers the failures."""

    def __init__(self) -> None:
        self.total = 0
        self.counts: Counter[Outcome] = Counter()
        self.failures: list[Result] = []
        self._terminal = sys.stdout.isatty()
        self._last = time.monotonic()

    def title(self, text: str) -> None:
        """Announce a step."""
        self._print(f"== {text}")

    def doing(self, text: str) -> None:
        """A passing sign of life: what is going on right now."""
        if self._terminal:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r{text[:width]}\033[K", end="", flush=True)
        elif time.monotonic() - self._last > QUIET_S:
            self._print(f"   ... {text[:100]}")

    def result(self, result: Result) -> None:
        """Count a result and print its line."""
        self.counts[result.outcome] += 1
        done = sum(self.counts.values())
        mark = result.outcome.value
        if result.outcome is Outcome.FAILED:
            self.failures.append(result)
            mark = "FAILED"
        self.total = max(self.total, done)
        self._print(
            f"{done:4}/{self.total} {mark:7} {result.seconds:6.1f} s  {result.name}"
        )

    def close(self) -> int:
        """Print failures with their output and the closing line; the exit status."""
        for result in self.failures:
            self._print(f"\n--- FAILED {result.name}\n{result.output.rstrip()}")
        if self.failures:
            names = "\n".join(f"  {r.name}" for r in self.failures)
            self._print(f"\nFailed:\n{names}")
        passed, bad, skipped = (self.counts[outcome] for outcome in Outcome)
        self._print(f"{passed} passed, {bad} failed, {skipped} skipped")
        return 1 if bad or not passed else 0

    def _print(self, text: str) -> None:
        clear = "\r\033[K" if self._terminal else ""
        print(f"{clear}{text}", flush=True)
        self._last = time.monotonic()
