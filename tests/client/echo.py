"""What parents and children call, in a module that is quick to import (spawn)."""

from __future__ import annotations

import warded
from warded import v1


def echo(channel: warded.Channel, size: int) -> int:
    """A call whose answer nobody else could have been given."""
    request = v1.HealthCheckRequest(padding=bytes(size))
    return len(v1.HealthStub(channel).Check(request, timeout=20).padding)


def child(channel: warded.Channel, size: int) -> None:
    """What a child does."""
    assert echo(channel, size) == size
    assert echo(channel, size + 1) == size + 1
