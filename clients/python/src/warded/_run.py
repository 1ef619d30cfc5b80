"""`warded.run`: actions in, outcomes out, for those who want no stubs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from warded._actions import Action, ActionError, as_actions, make_item
from warded._outcome import Outcome, read_outcome, refused
from warded._timeout import bad_timeout, read_timeout_ms
from warded.channel import Channel, connect
from warded.errors import Failure, ServerFault
from warded.status import Phase, Reason, StatusCode
from warded.v1 import observation_wd as _pb


def run(
    actions: Iterable[str | Action],
    tool: str = "python_code",
    *,
    channel: Channel | None = None,
    timeout: float | None = None,
    wait_for_ready: bool = False,
) -> list[Outcome]:
    """Run actions as one batch: one outcome each, in their order.

    `tool`: its name, and each text is its code as it stands; empty: routed by the
    tools' tags, and the code is what stands between them. `channel`: None: of
    `warded.connect()`. `timeout`: seconds for the whole batch, 30 when None.

    An action that fails, or that can't be sent (a NUL in its text, a negative limit),
    fails alone, by its outcome. Raises RpcError when none ran: InvalidCall for a
    `timeout` of 0 or less; TypeError for what is no action.

    Example::

        for outcome in warded.run(["print(2 ** 10)", "1 / 0"]):
            print(outcome.status, outcome.observation)
    """
    if read_timeout_ms(timeout) <= 0:
        raise bad_timeout(timeout)
    made = [_make(action, tool) for action in as_actions(actions)]
    items = [item for item in made if not isinstance(item, Outcome)]
    if not items:
        return [outcome for outcome in made if isinstance(outcome, Outcome)]
    stub = _pb.ObservationStub(connect() if channel is None else channel)
    reply = stub.GetObservation(
        _pb.GetObservationRequest(items=items),
        timeout=timeout,
        wait_for_ready=wait_for_ready,
    )
    if len(reply.results) != len(items):
        raise ServerFault(_wrong_length(len(items), len(reply.results)))
    results = iter(reply.results)
    return [
        item if isinstance(item, Outcome) else read_outcome(next(results))
        for item in made
    ]


def _make(action: Action, tool: str) -> Any:
    try:
        return make_item(action, tool)
    except ActionError as error:
        return refused(error.where, error.why)


def _wrong_length(sent: int, came: int) -> Failure:
    return Failure(
        StatusCode.INTERNAL,
        Reason.BUG,
        f"{came} results for {sent} actions: none can be told apart",
        Phase.REMOTE,
    )
