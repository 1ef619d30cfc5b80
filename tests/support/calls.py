"""What tests of the gate ask, and how they read the answers and the record."""

from __future__ import annotations

import time

from warded.v1 import GetObservationReply, GetObservationRequest, Item, Reason, Reply

from tests.support.gate import Home

OBSERVE = "/warded.v1.Observation/GetObservation"
WHO = "/warded.v1.Token/WhoAmI"
HEALTH = "/warded.v1.Health/Check"
PATIENCE_S = 30


def batch(*actions: str, same: str = "") -> bytes:
    items = [
        Item(trajectory_id=same or f"t{i}", action=action, tool="python_code")
        for i, action in enumerate(actions)
    ]
    return bytes(GetObservationRequest(items=items).SerializeToString())


def results(reply: Reply) -> list[str]:
    assert reply.code == 0, reply.message
    got = GetObservationReply.FromString(reply.payload).results
    return [type(r).Status.Name(r.status) for r in got]


def reason(reply: Reply) -> str:
    assert (reply.code == 0) == (reply.reason == 0)
    return str(Reason.Name(reply.reason))


def rows(home: Home, *filters: str) -> list[str]:
    out = home.tokctl("-o", "jsonl", "audit", "query", "--limit", "0", *filters).stdout
    return [line for line in out.splitlines() if line]


def wait_for_rows(home: Home, event: str, count: int = 1) -> None:
    """Look until the record has as many rows of an event."""
    end = time.monotonic() + PATIENCE_S
    while len(rows(home, "--event", event)) < count:
        assert time.monotonic() < end, f"no {count} rows of {event}"
