"""Warded: call sandboxed tools through a gate that lets nobody in without two keys.

    import warded
    from warded.v1 import GetObservationRequest, Item, ObservationStub

    channel = warded.connect()  # $WARDED_PROFILE, a folder
    stub = ObservationStub(channel)
    item = Item(trajectory_id="t1", tool="python_code", action="print(6 * 7)")
    reply = stub.GetObservation(GetObservationRequest(items=[item]), timeout=30)

or, above the stubs: `warded.run(["print(6 * 7)"])[0].observation`.
"""

from warded._actions import Action, Limits
from warded._call import Call
from warded._outcome import CUT_MARK, Exit, ItemStatus, Outcome, read_outcome
from warded._run import run
from warded.channel import Channel, connect
from warded.errors import (
    Busy,
    Cancelled,
    DeadlineExceeded,
    HostNotAdopted,
    InvalidCall,
    OutcomeUnknown,
    PermissionDenied,
    ProfileError,
    RpcError,
    ServerFault,
    TlsRefused,
    Unauthenticated,
    Unavailable,
    Unreachable,
)
from warded.status import Phase, Reason, StatusCode

__version__ = "0.1.0"

__all__ = [
    "CUT_MARK",
    "Action",
    "Busy",
    "Call",
    "Cancelled",
    "Channel",
    "DeadlineExceeded",
    "Exit",
    "HostNotAdopted",
    "InvalidCall",
    "ItemStatus",
    "Limits",
    "Outcome",
    "OutcomeUnknown",
    "PermissionDenied",
    "Phase",
    "ProfileError",
    "Reason",
    "RpcError",
    "ServerFault",
    "StatusCode",
    "TlsRefused",
    "Unauthenticated",
    "Unavailable",
    "Unreachable",
    "connect",
    "read_outcome",
    "run",
]
