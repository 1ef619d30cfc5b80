"""What tests of the gate ask, and how they read the answers and the record."""

from __future__ import annotations

import re
import time

from warded.v1 import GetObservationReply, GetObservationRequest, Item, Reason, Reply

from tests.support.gate import ROOT, Home

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


def reason_codes() -> dict[str, int]:
    """The code of each reason, as rpc.proto groups them: "// NOT_FOUND (5)"."""
    schema = (ROOT / "proto/warded/v1/rpc.proto").read_text()
    enum = schema.partition("enum Reason {")[2].partition("\n}")[0]
    code, codes = 0, {"REASON_UNSPECIFIED": 0}
    for line in enum.splitlines():
        if (group := re.match(r"  // \w+ \((\d+)\)$", line)) is not None:
            code = int(group[1])
        elif code and (value := re.match(r"  (\w+) = \d+;", line)) is not None:
            codes[value[1]] = code
    assert codes.keys() == set(Reason.keys())
    return codes


def rows(home: Home, *filters: str) -> list[str]:
    out = home.tokctl("-o", "jsonl", "audit", "query", "--limit", "0", *filters).stdout
    return [line for line in out.splitlines() if line]


def wait_for_rows(home: Home, event: str, count: int = 1) -> None:
    """Look until the record has as many rows of an event."""
    end = time.monotonic() + PATIENCE_S
    while len(rows(home, "--event", event)) < count:
        assert time.monotonic() < end, f"no {count} rows of {event}"


def wait_signed(home: Home, seq: int) -> None:
    """Look until this row is signed: then the gate writes nothing of its own accord."""
    file = home.store / "checkpoint"
    end = time.monotonic() + PATIENCE_S
    while not file.exists() or int(file.read_text().splitlines()[1]) < seq:
        assert time.monotonic() < end, f"row {seq} was not signed"
