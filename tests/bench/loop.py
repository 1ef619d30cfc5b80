"""What the contenders' Python programs share: the clock and the result line."""

from __future__ import annotations

import json
import resource
import threading
import time
from collections.abc import Callable


class Meter:
    """Counts operations that start after the warm-up and end before the end.

    Threads: each keeps latencies of its own and hands them over once.
    """

    def __init__(self, seconds: float, warm_s: float) -> None:
        self.start = time.perf_counter() + warm_s
        self.end = self.start + seconds
        self.calls = 0
        self._latencies: list[float] = []
        self._lock = threading.Lock()
        self._cpu_s = 0.0
        self._timer = threading.Timer(warm_s, self._begin)
        self._timer.start()

    def _begin(self) -> None:
        self._cpu_s = cpu_s()

    def add(self, latencies: list[tuple[float, float]]) -> None:
        """Take over (began, ended) of one thread's operations."""
        with self._lock:
            self.calls += len(latencies)
            self._latencies += [
                b - a for a, b in latencies if a >= self.start and b <= self.end
            ]

    def print(self) -> None:
        """The line that the benchmark reads."""
        used = cpu_s() - self._cpu_s
        found = sorted(self._latencies)
        number = len(found)
        if number == 0:
            raise SystemExit("no operation ended in time")
        told = {
            "rate": number / (self.end - self.start),
            "p50_us": found[number // 2] * 1e6,
            "p99_us": found[min(number - 1, int(number * 0.99))] * 1e6,
            "client_us": used / number * 1e6,
            "calls": self.calls,
        }
        print(json.dumps(told))


def cpu_s() -> float:
    """Processor time of this process and of the children that it waited for."""
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    both = [resource.getrusage(one) for one in who]
    return sum(one.ru_utime + one.ru_stime for one in both)


def by_threads(meter: Meter, depth: int, operate: Callable[[], None]) -> None:
    """`depth` threads, each with one operation at a time."""
    failures: list[BaseException] = []

    def work() -> None:
        mine: list[tuple[float, float]] = []
        now = time.perf_counter()
        try:
            while now < meter.end:
                began = now
                operate()
                now = time.perf_counter()
                mine.append((began, now))
        except BaseException as error:
            failures.append(error)
        meter.add(mine)

    if depth == 1:
        work()
    else:
        threads = [threading.Thread(target=work) for _ in range(depth)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]
