"""`warded.run`, its outcomes, and the rollout example; the enums beside the schema."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import warded
from warded import v1

from tests.client.fake_gate import FakeGate

Start = Callable[..., FakeGate]
ChannelOf = Callable[[FakeGate], warded.Channel]
ProfileOf = Callable[[FakeGate], Path]

ROOT = Path(__file__).parents[2]
ROLLOUT = ROOT / "clients/python/examples/rollout.py"


def answering(*results: Any) -> Callable[[FakeGate, Any], Any]:
    """A gate that answers GetObservation with these."""
    payload = v1.GetObservationReply(results=results).SerializeToString()
    return lambda gate, request: gate.reply(request, payload=payload)


def text(name: str, words: str, **cut: int) -> Any:
    """A content block; with keywords, one that was cut."""
    content = v1.Content(name=name, text=words)
    if cut:
        content.truncation.CopyFrom(v1.Truncation(**cut))
    return content


def test_run_sends_one_batch_and_keeps_order(
    start: Start, channel_of: ChannelOf
) -> None:
    gate = start()
    actions = [f"print({n})" for n in range(64)]
    outcomes = warded.run(actions, channel=channel_of(gate))
    assert [o.stdout for o in outcomes] == actions
    (request,) = gate.seen.requests
    items = v1.GetObservationRequest.FromString(request.payload).items
    assert len({item.trajectory_id for item in items}) == 64
    assert {item.tool for item in items} == {"python_code"}


def test_run_of_nothing_calls_nobody(start: Start, channel_of: ChannelOf) -> None:
    gate = start()
    assert warded.run([], channel=channel_of(gate)) == []
    assert gate.seen.requests == []


def test_an_action_brings_its_stdin_limits_and_trajectory(
    start: Start, channel_of: ChannelOf
) -> None:
    gate = start()
    action = warded.Action(
        "x", stdin=b"21\n", trajectory_id="t", limits=warded.Limits(wall_ms=5)
    )
    warded.run([action], "other", channel=channel_of(gate))
    payload = gate.seen.requests[0].payload
    (item,) = v1.GetObservationRequest.FromString(payload).items
    assert (item.stdin, item.trajectory_id, item.tool) == (b"21\n", "t", "other")
    assert item.limits.wall_ms == 5


OBSERVATIONS = {
    "output": (v1.Result(status=1, content=[text("stdout", "42\n")]), "42"),
    "no output": (v1.Result(status=1, message="ended"), ""),
    "both": (
        v1.Result(status=1, content=[text("stdout", "a\n"), text("stderr", "b\n")]),
        "a\nb",
    ),
    "error": (
        v1.Result(status=3, content=[text("stderr", "Oops\n")], message="exit 1"),
        "Oops",
    ),
    "silent error": (v1.Result(status=3, message="exit 1"), "exit 1"),
    "timeout": (
        v1.Result(status=4, content=[text("stdout", "so far\n")], message="2 s are up"),
        "so far\n2 s are up",
    ),
    "invalid": (v1.Result(status=2, message="no tool"), "no tool"),
    "denied": (v1.Result(status=6, message="no scope"), "no scope"),
}


@pytest.mark.parametrize("name", OBSERVATIONS)
def test_observation_is_what_the_model_should_see(
    start: Start, channel_of: ChannelOf, name: str
) -> None:
    result, expected = OBSERVATIONS[name]
    (outcome,) = warded.run(["x"], channel=channel_of(start(answering(result))))
    assert outcome.observation == expected


NO_OBSERVATION = [
    (v1.Result.BUSY, warded.Busy),
    (v1.Result.CANCELLED, warded.Cancelled),
    (v1.Result.INFRA, warded.ServerFault),
    (0, warded.ServerFault),
    (77, warded.ServerFault),  # a status of a later version
]


@pytest.mark.parametrize(("status", "kind"), NO_OBSERVATION)
def test_what_is_no_observation_raises(
    start: Start, channel_of: ChannelOf, status: int, kind: type[warded.RpcError]
) -> None:
    result = v1.Result(
        status=status,
        reason=v1.EXECUTOR_DIED,
        message="why",
        content=[text("stdout", "looks like output")],
    )
    (outcome,) = warded.run(["x"], channel=channel_of(start(answering(result))))
    with pytest.raises(kind, match="why") as caught:
        _ = outcome.observation
    assert caught.value.reason is warded.Reason.EXECUTOR_DIED


def test_a_cut_output_tells_its_size(start: Start, channel_of: ChannelOf) -> None:
    cut = text("stdout", "headtail", original_bytes=1000, head_bytes=4, tail_bytes=4)
    result = v1.Result(status=1, content=[cut])
    (outcome,) = warded.run(["x"], channel=channel_of(start(answering(result))))
    assert (outcome.truncated, outcome.original_bytes) == (True, 1000)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_reply_of_another_length_is_a_fault(
    start: Start, channel_of: ChannelOf, count: int
) -> None:
    gate = start(answering(*[v1.Result(status=1)] * count))
    with pytest.raises(warded.ServerFault, match=f"{count} results for 2"):
        warded.run(["a", "b"], channel=channel_of(gate))


@pytest.mark.parametrize(
    ("ours", "schema"),
    [
        (warded.Reason, v1.Reason),
        (warded.ItemStatus, v1.Result.Status),
    ],
)
def test_enums_are_the_schema_s(ours: Any, schema: Any) -> None:
    known = {n: v for n, v in schema.items() if n != "STATUS_UNSPECIFIED"}
    assert {member.name: member.value for member in ours} == known


def test_an_unknown_reason_is_shown_as_it_is() -> None:
    assert warded.Reason(1234).name == "REASON_1234"
    assert warded.Reason(1234) == 1234
    assert 1234 not in list(warded.Reason)


# --- the example


def rollout(profile: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the example as a program."""
    return subprocess.run(
        [sys.executable, str(ROLLOUT), "--profile", str(profile), *options],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def expected_result(path: Path) -> Any:
    """What a gate would answer to an action, if all went as its file says."""
    told = json.loads(path.with_suffix(".expect.json").read_text())
    stdout = told.get("stdout", told.get("stdout_starts", ""))
    stdout += told.get("stdout_ends", "")
    out = text("stdout", stdout)
    if told.get("truncated"):
        out.truncation.original_bytes = told["original_bytes"]
    return v1.Result(
        status=v1.Result.Status.Value(told["status"]),
        content=[out, text("stderr", told.get("stderr_has", ""))],
        exit=v1.Exit(
            code=told.get("exit_code", 0),
            cause=v1.Exit.Cause.Value(told.get("cause", "NONE")),
        ),
    )


ACTION_FILES = sorted((ROLLOUT.parent / "actions").glob("*.py"))


def test_there_are_64_distinct_actions_with_expectations() -> None:
    assert len({path.read_text() for path in ACTION_FILES}) == 64
    assert all(path.with_suffix(".expect.json").exists() for path in ACTION_FILES)


def test_rollout_exits_0_when_all_came_back_as_expected(
    start: Start, profile_of: ProfileOf
) -> None:
    gate = start(answering(*map(expected_result, ACTION_FILES)))
    done = rollout(profile_of(gate))
    assert (done.returncode, done.stderr) == (0, done.stderr)
    assert "64 of 64 as expected" in done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 65
    assert "queue ms" in lines[0]
    assert any("endless_loop" in line and "TIMEOUT" in line for line in lines)


def test_rollout_exits_1_and_names_the_mismatch(
    start: Start, profile_of: ProfileOf
) -> None:
    results = [expected_result(path) for path in ACTION_FILES]
    results[2].content[0].text = "gcd: 17\n"
    results[46].status = v1.Result.OK
    done = rollout(profile_of(start(answering(*results))), "--json")
    assert done.returncode == 1
    assert "MISMATCH 03_gcd_and_lcm: stdout: expected 'gcd: 18" in done.stderr
    assert "MISMATCH 47_divide_by_zero: status: expected 'TOOL_ERROR'" in done.stderr
    assert "62 of 64 as expected" in done.stderr
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [bool(record["mismatches"]) for record in records].count(True) == 2


def test_rollout_exits_2_when_the_gate_refuses(
    start: Start, profile_of: ProfileOf
) -> None:
    gate = start(
        lambda gate, request: gate.reply(
            request, code=16, reason=v1.TOKEN_EXPIRED, message="get another"
        )
    )
    done = rollout(profile_of(gate))
    assert done.returncode == 2
    assert "TOKEN_EXPIRED" in done.stderr
    assert done.stdout == ""


def test_rollout_refuses_an_expectation_that_it_does_not_know(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("rollout", ROLLOUT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["rollout"] = module
    spec.loader.exec_module(module)
    (tmp_path / "01_x.py").write_text("pass\n")
    (tmp_path / "01_x.expect.json").write_text('{"status": "OK", "stduot": ""}')
    with pytest.raises(SystemExit, match="stduot"):
        module.read_actions(tmp_path)
