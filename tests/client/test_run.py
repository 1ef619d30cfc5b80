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
from tests.support.endings import ENDINGS, text

Start = Callable[..., FakeGate]
ChannelOf = Callable[[FakeGate], warded.Channel]
ProfileOf = Callable[[FakeGate], Path]

ROOT = Path(__file__).parents[2]
ROLLOUT = ROOT / "clients/python/examples/rollout.py"


def answering(*results: Any) -> Callable[[FakeGate, Any], Any]:
    """A gate that answers GetObservation with these."""
    payload = v1.GetObservationReply(results=results).SerializeToString()
    return lambda gate, request: gate.reply(request, payload=payload)


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


@pytest.mark.parametrize("name", ENDINGS)
def test_observation_is_what_the_model_should_see(name: str) -> None:
    """The real gate sends these very results: tests/integration/test_items.py."""
    ending = ENDINGS[name]
    assert warded.read_outcome(ending.result).observation == ending.observation


NO_OBSERVATION = {
    "BUSY": (v1.QUEUE_TIMEOUT, "", warded.Busy),
    "CANCELLED": (v1.CANCELLED, "", warded.Cancelled),
    "INFRA": (v1.EXECUTOR_DIED, "", warded.ServerFault),
    "DENIED": (v1.SCOPE_MISSING, "tool", warded.PermissionDenied),
    "DENIED by the tag": (v1.SCOPE_MISSING, "action", warded.PermissionDenied),
    "INVALID_ACTION for its tool": (v1.TOOL_UNKNOWN, "tool", warded.InvalidCall),
    "INVALID_ACTION for limits": (v1.FIELD_INVALID, "limits", warded.InvalidCall),
    "INVALID_ACTION for files": (v1.NOT_BUILT, "files", warded.InvalidCall),
    "INVALID_ACTION for nothing": (v1.FIELD_INVALID, "", warded.InvalidCall),
    "STATUS_UNSPECIFIED": (v1.EXECUTOR_DIED, "", warded.ServerFault),
    "77 of a later version": (v1.EXECUTOR_DIED, "", warded.ServerFault),
}


@pytest.mark.parametrize("name", NO_OBSERVATION)
def test_what_is_no_observation_raises(name: str) -> None:
    reason, field, kind = NO_OBSERVATION[name]
    word = name.partition(" ")[0]
    result = v1.Result(
        status=int(word) if word.isdigit() else v1.Result.Status.Value(word),
        reason=reason,
        message="why",
        metadata={"field": field} if field else {},
        content=[text("stdout", "looks like output")],
    )
    with pytest.raises(kind, match="why") as caught:
        _ = warded.read_outcome(result).observation
    assert type(caught.value) is kind
    assert caught.value.reason == reason
    assert not caught.value.may_have_run or kind in (
        warded.Cancelled,
        warded.ServerFault,
    )


CUTS = {
    "head and tail": ("headtail", (1000, 4, 4), "head\n[... 992 bytes cut ...]\ntail"),
    "a head": ("head", (1000, 4, 0), "head\n[... 996 bytes cut ...]\n"),
    "a tail": ("tail", (1000, 0, 4), "\n[... 996 bytes cut ...]\ntail"),
    "nothing": ("", (5, 0, 0), "\n[... 5 bytes cut ...]\n"),
    "other than ASCII": ("é€x", (9, 2, 4), "é\n[... 3 bytes cut ...]\n€x"),
    "a gate that can't count": (
        "headtail",
        (1, 4, 4),
        "head\n[... 0 bytes cut ...]\ntail",
    ),
    "within a character": ("é", (9, 1, 1), "\ufffd\n[... 7 bytes cut ...]\n\ufffd"),
}


@pytest.mark.parametrize("name", CUTS)
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_cut_is_seen_where_it_is(name: str, stream: str) -> None:
    words, (original, head, tail), expected = CUTS[name]
    cut = text(stream, words, original_bytes=original, head_bytes=head, tail_bytes=tail)
    outcome = warded.read_outcome(v1.Result(status=1, content=[cut]))
    assert getattr(outcome, stream) == expected
    assert outcome.observation == expected.rstrip("\n")
    assert outcome.truncated
    assert outcome.original_bytes == (original if stream == "stdout" else 0)
    assert outcome.result.content[0].text == words, "the two are there without a mark"


def test_the_mark_of_an_action_is_not_ours() -> None:
    fake = "a" + warded.CUT_MARK.format(7)
    outcome = warded.read_outcome(v1.Result(status=1, content=[text("stdout", fake)]))
    assert outcome.stdout == fake
    assert not outcome.truncated


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


@pytest.mark.parametrize("kind", [warded.ItemStatus, warded.Reason, warded.StatusCode])
def test_enums_print_their_names_and_are_numbers(kind: Any) -> None:
    for member in kind:
        assert str(member) == f"{member}" == format(member) == member.name
        assert f"{member:30}" == member.name.ljust(30)
        assert f"{member:>4d}" == f"{int(member):>4d}"
        assert json.dumps(member) == json.dumps(int(member))
    assert str(warded.ItemStatus.OK) == "OK"


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
        head = len(told["stdout_starts"])
        out = text(
            "stdout",
            stdout,
            original_bytes=told["original_bytes"],
            head_bytes=head,
            tail_bytes=len(stdout) - head,
        )
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
