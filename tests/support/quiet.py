"""Holds a gate over a stub executor to what its callers were told.

Whatever is sent to it: no job reaches the executor, and the trail has begun what was
answered with OK, item by item, and nothing else.

Example:
    with Quiet(stub) as quiet:
        quiet.note(raw.ask(data))
"""

from __future__ import annotations

from types import TracebackType

from warded.v1 import GetObservationReply, Reply

from tests.support.calls import rows
from tests.support.stub_gate import StubGate


class Quiet:
    """What was answered, and what the gate has done."""

    def __init__(self, stub: StubGate) -> None:
        self._stub = stub
        self._items = 0
        self._before = (0, 0)

    def __enter__(self) -> Quiet:
        self._before = self._look()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            jobs, begun = self._before
            assert self._look() == (jobs, begun + self._items)

    def note(self, reply: Reply) -> Reply:
        """An answer of GetObservation, or a refusal."""
        if reply.code == 0:
            self._items += len(GetObservationReply.FromString(reply.payload).results)
        return reply

    def _look(self) -> tuple[int, int]:
        jobs = self._stub.count().jobs
        return jobs, len(rows(self._stub.home, "--event", "call.begin"))
