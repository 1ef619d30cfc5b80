"""Short ways to send items and to look at what came."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import warded
from warded.v1 import observation_wd as pb

Result = Any


@functools.cache
def channel(profile: Path) -> warded.Channel:
    """One channel for each profile."""
    return warded.connect(profile)


def item(action: str, **fields: Any) -> Any:
    """An item of a trajectory of its own, for python_code unless it says otherwise."""
    limits = {
        k: fields.pop(k)
        for k in list(fields)
        if k in pb.Limits.DESCRIPTOR.fields_by_name
    }
    fields = {"tool": "python_code", "trajectory_id": "t", **fields}
    return pb.Item(action=action, limits=pb.Limits(**limits), **fields)


def send(profile: Path, *items: Any, timeout: float = 60) -> list[Result]:
    """The results of one batch."""
    stub = pb.ObservationStub(channel(profile))
    request = pb.GetObservationRequest(items=items)
    return list(stub.GetObservation(request, timeout=timeout).results)


def run(profile: Path, action: str, **fields: Any) -> Result:
    """The result of one action."""
    return send(profile, item(action, **fields))[0]


def status(result: Result) -> str:
    """The status' name."""
    return str(pb.Result.Status.Name(result.status))


def cause(result: Result) -> str:
    """The name of the limit that ended it."""
    return str(pb.Exit.Cause.Name(result.exit.cause))


def text(result: Result, name: str = "stdout") -> str:
    """What the action wrote to one stream."""
    return "".join(c.text for c in result.content if c.name == name)
