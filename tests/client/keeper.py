"""A gate that keeps its replies, and calls that lose their connection meanwhile."""

from __future__ import annotations

import collections
import threading
from typing import Any

import pytest
import warded
from warded import v1

from tests.client.fake_gate import CLOSE, FakeGate, answer_by_method


class Keeper:
    """Runs what it does not know, and answers once its connections were cut often."""

    def __init__(self, cuts: int) -> None:
        self.ran: collections.Counter[bytes] = collections.Counter()
        self._kept: dict[bytes, Any] = {}
        self._cuts = cuts
        self._lock = threading.Lock()

    def __call__(self, gate: FakeGate, request: Any) -> Any:
        with self._lock:
            if request.call_id not in self._kept:
                self._kept[request.call_id] = answer_by_method(gate, request)
                self.ran[request.call_id] += 1
            if self._cuts > 0:
                self._cuts -= 1
                return CLOSE
        return self._kept[request.call_id]


def start_one(channel: warded.Channel, size: int = 1, **kwargs: Any) -> Any:
    """A future of Health.Check."""
    request = v1.HealthCheckRequest(padding=bytes(size))
    return v1.HealthStub(channel).Check.future(request, **{"timeout": 20, **kwargs})


def unknown(call: Any) -> warded.OutcomeUnknown:
    """As it must end: it may have run."""
    with pytest.raises(warded.OutcomeUnknown) as caught:
        call.result()
    error = caught.value
    assert error.reason is warded.Reason.OUTCOME_UNKNOWN
    assert (error.phase, error.may_have_run) == (warded.Phase.WAIT, True)
    assert call.call_id in error.details()
    return error
