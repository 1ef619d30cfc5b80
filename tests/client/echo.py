"""What parents and children call, in a module that is quick to import (spawn)."""

from __future__ import annotations

import warded
from warded import v1


def echo(channel: warded.Channel, size: int) -> int:
    """A call whose answer nobody else could have been given."""
    request = v1.HealthCheckRequest(padding=bytes(size))
    return len(v1.HealthStub(channel).Check(request, timeout=20).padding)


def run_action(channel: warded.Channel, number: int) -> None:
    """A real action whose answer nobody else could have been given."""
    (outcome,) = warded.run([f"print({number} + 1)"], channel=channel, timeout=60)
    assert outcome.observation == f"{number + 1}"


def child_that_acts(channel: warded.Channel, number: int) -> None:
    """What a child does that is a trainer's worker."""
    child(channel, number)
    run_action(channel, number)


def child(channel: warded.Channel, size: int) -> None:
    """What a child does."""
    assert echo(channel, size) == size
    assert echo(channel, size + 1) == size + 1
