"""Limits that the client keeps itself: nothing that a gate would refuse is sent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import warded
from warded import v1

from tests.client.fake_gate import FakeGate

Start = Callable[..., FakeGate]
ProfileOf = Callable[[FakeGate], Path]


def call(profile: Path, **kwargs: Any) -> Any:
    """One Health.Check by a channel of its own."""
    with warded.connect(profile) as channel:
        return v1.HealthStub(channel).Check(v1.HealthCheckRequest(), **kwargs)


@pytest.mark.parametrize(("more", "passes"), [(0, True), (1, False)])
def test_an_envelope_of_the_very_limit_passes(
    start: Start, profile_of: ProfileOf, more: int, passes: bool
) -> None:
    gate = start(lambda gate, request: gate.reply(request))
    with warded.connect(profile_of(gate)) as channel:
        stub = v1.HealthStub(channel)
        stub.Check(v1.HealthCheckRequest(padding=bytes(1 << 23)), timeout=25)
        # lengths of lengths and the timeout's digits are the same from here on
        empty = gate.seen.requests[0].ByteSize() - (1 << 23)
        room = (16 << 20) - empty + more
        request = v1.HealthCheckRequest(padding=bytes(room))
        if passes:
            stub.Check(request, timeout=25)
        else:
            with pytest.raises(warded.InvalidCall, match="16777217"):
                stub.Check(request, timeout=25)


def test_too_large_is_refused_before_sending_and_names_the_limit(
    start: Start, profile_of: ProfileOf
) -> None:
    gate = start()
    with warded.connect(profile_of(gate)) as channel:
        stub = v1.HealthStub(channel)
        for size in (16 << 20, 64 << 20):
            with pytest.raises(warded.InvalidCall) as caught:
                stub.Check(v1.HealthCheckRequest(padding=bytes(size)))
            assert caught.value.reason is warded.Reason.TOO_LARGE
            assert caught.value.code() is warded.StatusCode.RESOURCE_EXHAUSTED
            for word in ("16777216", "limits.frame_bytes", "not sent"):
                assert word in caught.value.details()
        stub.Check(v1.HealthCheckRequest())  # and the connection is as good as new
    assert len(gate.seen.requests) == 1


@pytest.mark.parametrize(
    "kwargs",
    [
        {"metadata": {"UPPER": "x"}},
        {"metadata": {"": "x"}},
        {"metadata": [("twice", "1"), ("twice", "2")]},
        {"metadata": {"nul": "a\0b"}},
        {"metadata": {"half": "\udcff"}},
        {"metadata": {"large": "x" * 8193}},
        {"metadata": {f"k{n}": "" for n in range(65)}},
    ],
    ids=str,
)
def test_arguments_that_no_gate_takes_are_refused_here(
    start: Start, profile_of: ProfileOf, kwargs: dict[str, Any]
) -> None:
    gate = start()
    with pytest.raises(warded.InvalidCall):
        call(profile_of(gate), **kwargs)
    assert gate.seen.requests == []


@pytest.mark.parametrize("timeout", [0, -1])
def test_a_deadline_that_has_passed_sends_nothing(
    start: Start, profile_of: ProfileOf, timeout: float
) -> None:
    gate = start()
    with pytest.raises(warded.DeadlineExceeded):
        call(profile_of(gate), timeout=timeout)
    assert gate.seen.requests == []


def test_a_request_of_the_wrong_type_is_a_type_error(
    start: Start, profile_of: ProfileOf
) -> None:
    with warded.connect(profile_of(start())) as channel, pytest.raises(TypeError):
        v1.HealthStub(channel).Check(v1.HeadRequest())
