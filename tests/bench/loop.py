"""What the contenders' Python programs share: the clock and the result line."""

from __future__ import annotations

import json
import os
import resource
import threading
import time
from collections.abc import Callable


class Meter:
    """Counts operations that end between the warm-up and the end, whenever they began:
    long ones and short ones lose nothing by the edges.

    Threads: each keeps latencies of its own and hands them over once.
    """

    def __init__(self, seconds: float, warm_s: float) -> None:
        self.start = time.perf_counter() + warm_s
        self.end = self.start + seconds
        self.calls = 0
        self._latencies: list[float] = []
        self._lock = threading.Lock()
        self._cpu_s = cpu_s()

    def add(self, latencies: list[tuple[float, float]]) -> None:
        """Take over (began, ended) of one thread's operations."""
        with self._lock:
            self.calls += len(latencies)
            self._latencies += [
                b - a for a, b in latencies if self.start <= b <= self.end
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
            "client_us": used / self.calls * 1e6,  # all that there were
            "calls": self.calls,
        }
        print(json.dumps(told))


def cpu_s() -> float:
    """Processor time of this process and of the children that it waited for."""
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    both = [resource.getrusage(one) for one in who]
    return sum(one.ru_utime + one.ru_stime for one in both)


def by_processes(meter: Meter, depth: int, operate: Callable[[], None]) -> None:
    """As `by_threads`, by children: for those whose operation is to fork."""
    pipes = []
    for _ in range(depth):
        out, into = os.pipe()
        if os.fork() == 0:
            status = 1
            try:
                mine = one_by_one(meter, operate)
                with os.fdopen(into, "w") as file:
                    json.dump(mine, file)
                status = 0
            finally:
                os._exit(status)
        os.close(into)
        pipes.append(out)
    for out in pipes:
        with os.fdopen(out) as file:
            meter.add([(began, ended) for began, ended in json.load(file)])
    for _ in range(depth):
        os.wait()


def one_by_one(meter: Meter, operate: Callable[[], None]) -> list[tuple[float, float]]:
    """One operation after the other; when each began and ended."""
    mine = []
    now = time.perf_counter()
    while now < meter.end:
        began = now
        operate()
        now = time.perf_counter()
        mine.append((began, now))
    return mine


def by_threads(meter: Meter, depth: int, operate: Callable[[], None]) -> None:
    """`depth` threads, each with one operation at a time."""
    failures: list[BaseException] = []

    def work() -> None:
        try:
            meter.add(one_by_one(meter, operate))
        except BaseException as error:
            failures.append(error)

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
