"""What `warded.run` and the stubs take, and what they refuse unsent."""

from __future__ import annotations

import decimal
import fractions
from collections.abc import Callable
from typing import Any

import pytest
import warded
from warded import v1

from tests.client.fake_gate import FakeGate

Start = Callable[..., FakeGate]
ChannelOf = Callable[[FakeGate], warded.Channel]

MIB = 1 << 20
Action = warded.Action
Limits = warded.Limits

# what -> (the action, the field that it is refused for, words of the message)
UNSENDABLE: dict[str, tuple[str | Action, str, str]] = {
    "a NUL": ("print(1)\0", "action", "action has a NUL as character 8"),
    "half a pair": ("é\ud800", "action", "half a character, U+D800, as character 1"),
    "a text too long": (
        "é" * (MIB // 2) + "x",
        "action",
        "has 1048577 bytes, at most 1048576",
    ),
    "stdin too long": (Action("x", stdin=bytes(MIB + 1)), "stdin", "at most 1048576"),
    "an id with a NUL": (Action("x", trajectory_id="a\0"), "trajectory_id", "NUL"),
    "an id with a newline": (
        Action("x", trajectory_id="a\n"),
        "trajectory_id",
        "0x0a as character 1",
    ),
    "an id with half a pair": (
        Action("x", trajectory_id="\udfff"),
        "trajectory_id",
        "U+DFFF",
    ),
    "an id too long": (
        Action("x", trajectory_id="x" * 256),
        "trajectory_id",
        "256 bytes, at most 255",
    ),
    "a negative limit": (
        Action("x", limits=Limits(wall_ms=-1)),
        "limits",
        "limits.wall_ms is -1, it may be 0 to 18446744073709551615",
    ),
    "a limit beyond 64 bits": (
        Action("x", limits=Limits(memory_bytes=1 << 64)),
        "limits",
        "limits.memory_bytes is 18446744073709551616",
    ),
    "pids beyond 32 bits": (
        Action("x", limits=Limits(pids=1 << 32)),
        "limits",
        "limits.pids is 4294967296, it may be 0 to 4294967295",
    ),
}


@pytest.mark.parametrize("name", UNSENDABLE)
def test_an_action_that_can_t_be_sent_fails_alone(
    start: Start, channel_of: ChannelOf, name: str
) -> None:
    action, field, words = UNSENDABLE[name]
    gate = start()
    before, outcome, after = warded.run(["a", action, "b"], channel=channel_of(gate))
    assert [before.stdout, after.stdout] == ["a", "b"]
    (request,) = gate.seen.requests
    sent = v1.GetObservationRequest.FromString(request.payload).items
    assert [item.action for item in sent] == ["a", "b"]
    assert outcome.status is warded.ItemStatus.INVALID_ACTION
    assert outcome.reason is warded.Reason.FIELD_INVALID
    assert outcome.message.startswith(field)
    assert words in outcome.message
    assert outcome.result.metadata == {"field": field}
    if field == "action":
        assert outcome.observation == outcome.message, "the model's own mistake"
        return
    with pytest.raises(warded.InvalidCall, match="no observation") as caught:
        _ = outcome.observation
    assert not caught.value.may_have_run


def test_when_no_action_can_be_sent_nobody_is_called(
    start: Start, channel_of: ChannelOf
) -> None:
    gate = start()
    outcomes = warded.run(["\0", "\ud800"], channel=channel_of(gate))
    assert [str(o.status) for o in outcomes] == ["INVALID_ACTION"] * 2
    assert gate.seen.requests == []


def test_actions_at_their_bounds_are_sent(start: Start, channel_of: ChannelOf) -> None:
    gate = start()
    most = (1 << 64) - 1
    actions: list[str | Action] = [
        "",
        "é" * (MIB // 2),
        Action("x", stdin=bytes(MIB)),
        Action("x", trajectory_id="é" * 127 + "x"),
        Action("x", limits=Limits(wall_ms=most, pids=(1 << 32) - 1)),
    ]
    outcomes = warded.run(actions, channel=channel_of(gate))
    assert [o.is_ok for o in outcomes] == [True] * 5


NO_ACTIONS: dict[str, tuple[Any, str]] = {
    "a bare str": ("print(1)", r"one str, .*warded.run\(\[action\]\)"),
    "bare bytes": (b"print(1)", r"one bytes, .*warded.run\(\[action\]\)"),
    "a bare Action": (Action("x"), r"one Action, .*warded.run\(\[action\]\)"),
    "bytes within": (["x", b"y"], r"actions\[1\]: bytes"),
    "None within": ([None], r"actions\[0\]: NoneType"),
    # mypy finds these too; not every caller has it.
    "a text of bytes": ([Action(b"x")], r"actions\[0\]\.text: bytes"),  # type: ignore[arg-type]
    "stdin of str": ([Action("x", stdin="y")], r"actions\[0\]\.stdin: str"),  # type: ignore[arg-type]
    "an id of int": ([Action("x", trajectory_id=7)], r"\.trajectory_id: int"),  # type: ignore[arg-type]
    "limits of dict": ([Action("x", limits={})], r"\.limits: dict"),  # type: ignore[arg-type]
    "a limit of float": (
        [Action("x", limits=Limits(wall_ms=1.5))],  # type: ignore[arg-type]
        r"actions\[0\]\.limits\.wall_ms: 1\.5; a whole number",
    ),
    "a limit of str": ([Action("x", limits=Limits(pids="7"))], r"\.limits\.pids: '7'"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", NO_ACTIONS)
def test_what_is_no_action_is_a_type_error(
    start: Start, channel_of: ChannelOf, name: str
) -> None:
    actions, words = NO_ACTIONS[name]
    gate = start()
    with pytest.raises(TypeError, match=words):
        warded.run(actions, channel=channel_of(gate))
    assert gate.seen.requests == []


RANGE = "a number of seconds, more than 0 and at most 86400; not sent"
BEYOND = [float("nan"), float("inf"), -float("inf"), 86400.001, 10**400, 1e300]
NO_NUMBERS = ["5", b"5", True, [1], decimal.Decimal(1)]
PASSED = [0, -1, -0.0001, -1e300, -(10**400)]


@pytest.mark.parametrize("timeout", [*BEYOND, *NO_NUMBERS, *PASSED], ids=repr)
@pytest.mark.parametrize("actions", [["x"], []])
def test_run_refuses_a_timeout_out_of_range(
    start: Start, channel_of: ChannelOf, timeout: Any, actions: list[str]
) -> None:
    gate = start()
    with pytest.raises(warded.InvalidCall) as caught:
        warded.run(actions, channel=channel_of(gate), timeout=timeout)
    assert caught.value.details() == f"timeout {timeout!r}: {RANGE}"
    assert caught.value.reason is warded.Reason.FIELD_INVALID
    assert gate.seen.requests == []


@pytest.mark.parametrize("timeout", [*BEYOND, *NO_NUMBERS], ids=repr)
def test_a_stub_refuses_a_timeout_that_is_none(
    start: Start, channel_of: ChannelOf, timeout: Any
) -> None:
    gate = start()
    stub = v1.HealthStub(channel_of(gate))
    with pytest.raises(warded.InvalidCall, match="at most 86400"):
        stub.Check(v1.HealthCheckRequest(), timeout=timeout)
    assert gate.seen.requests == []


@pytest.mark.parametrize("timeout", [20, 20.5, fractions.Fraction(41, 2), 86400])
def test_a_timeout_is_any_real_number(
    start: Start, channel_of: ChannelOf, timeout: Any
) -> None:
    gate = start()
    assert warded.run(["x"], channel=channel_of(gate), timeout=timeout)[0].is_ok
    seen_ms = gate.seen.requests[0].timeout_ms  # less what connecting took
    assert timeout * 1000 - 10_000 < seen_ms <= timeout * 1000


NUL_AT = {
    "items[1].action": v1.GetObservationRequest(
        items=[v1.Item(action="a"), v1.Item(action="a\0b")]
    ),
    "items[0].trajectory_id": v1.GetObservationRequest(
        items=[v1.Item(trajectory_id="\0", stdin=b"\0")]
    ),
    "items[2].fetch[1]": v1.GetObservationRequest(
        items=[v1.Item(), v1.Item(), v1.Item(fetch=["a", "\0"])]
    ),
    "items[0].files[0].path": v1.GetObservationRequest(
        items=[v1.Item(files=[v1.File(path="a\0", data=b"\0")])]
    ),
}


@pytest.mark.parametrize("where", NUL_AT)
def test_a_stub_names_the_field_that_has_a_nul(
    start: Start, channel_of: ChannelOf, where: str
) -> None:
    gate = start()
    stub = v1.ObservationStub(channel_of(gate))
    with pytest.raises(warded.InvalidCall) as caught:
        stub.GetObservation(NUL_AT[where])
    assert f": {where} has a NUL in its text; not sent" in caught.value.details()
    assert caught.value.reason is warded.Reason.FIELD_INVALID
    assert gate.seen.requests == []


def test_a_nul_in_bytes_or_in_numbers_is_none(
    start: Start, channel_of: ChannelOf
) -> None:
    gate = start()
    item = v1.Item(action="x", stdin=b"\0", limits=v1.Limits())
    stub = v1.ObservationStub(channel_of(gate))
    (result,) = stub.GetObservation(v1.GetObservationRequest(items=[item])).results
    assert result.content[0].text == "x"


def test_an_error_without_a_reason_shows_none(tmp_path: Any) -> None:
    with pytest.raises(warded.ProfileError) as caught:
        warded.connect(tmp_path / "nowhere")
    assert "UNSPECIFIED" not in str(caught.value)
    assert str(caught.value).startswith("FAILED_PRECONDITION [profile]: ")
