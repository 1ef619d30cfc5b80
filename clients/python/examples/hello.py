"""The ten lines of the README: one action, and what became of it."""

import warded
from warded.v1 import GetObservationRequest, Item, ObservationStub, Result

channel = warded.connect()  # $WARDED_PROFILE, a folder
stub = ObservationStub(channel)
items = [Item(trajectory_id="t1", tool="python_code", action="print(6 * 7)")]
reply = stub.GetObservation(GetObservationRequest(items=items), timeout=30)
for result in reply.results:  # in the items' order
    print(Result.Status.Name(result.status), result.content[0].text)
