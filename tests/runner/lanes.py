"""Runs lanes side by side, which keeps every processor busy, and ends them all."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

from tests.runner.model import AT_ONCE, Lane, failed
from tests.runner.process import EndingError, end_all
from tests.runner.progress import Progress

# Seconds in which an interrupted pytest may end what its tests have started.
GRACE_S = 10


def run_lanes(lanes: Sequence[Lane], progress: Progress) -> None:
    """In their order, those that help others last; then each that wants to be alone."""
    beside = sorted((one for one in lanes if not one.alone), key=lambda one: one.helps)
    running: list[Future[None]] = []
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        running += [pool.submit(_run, lane, progress) for lane in beside]
        wait(running)
        for lane in lanes:
            if lane.alone:
                running.append(pool.submit(_run, lane, progress))
                wait(running)
    except KeyboardInterrupt:
        pool.shutdown(wait=False, cancel_futures=True)
        for how in (signal.SIGINT, signal.SIGKILL):
            end_all(how)
            wait(running, GRACE_S)
        raise
    pool.shutdown()
    for future in running:
        if (error := future.exception()) is not None:
            said = "".join(traceback.format_exception(error))
            progress.result(failed("runner.lane", said))


def _run(lane: Lane, progress: Progress) -> None:
    progress.title(f"running {lane.title} tests")
    try:
        for result in lane.run():
            progress.result(result)
    except EndingError:
        return
