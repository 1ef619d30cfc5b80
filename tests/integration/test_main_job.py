"""The example that the README shows, run as a trainer runs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.gate import BUILD, ROOT, Gate

EXAMPLES = ROOT / "clients/python/examples"


def rollout(profile: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """rollout.py with a profile, to its end."""
    return subprocess.run(
        [sys.executable, EXAMPLES / "rollout.py", *words],
        env={
            **os.environ,
            "WARDED_PROFILE": str(profile),
            "PYTHONPATH": str(BUILD / "python"),
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def told(action: Path) -> dict[str, Any]:
    """What must come back of an action."""
    expected: dict[str, Any] = json.loads(
        action.with_suffix(".expect.json").read_text()
    )
    return expected


def tells_output(action: Path) -> bool:
    """Whether an action's expectation could find another output than its own."""
    expected = told(action)
    parts = ("stdout_starts", "stdout_ends", "stderr_has")
    return expected.get("stdout") is not None or any(map(expected.get, parts))


def test_claim_01_rollout_of_64_actions_matches(trainer: Path, gate: Gate) -> None:
    done = rollout(trainer, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    actions = sorted((EXAMPLES / "actions").glob("*.py"))
    assert len(actions) == 64
    assert len({a.read_text() for a in actions}) == 64, "all distinct"
    assert [a.stem for a in actions if not tells_output(a)] == []
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == 64
    trail = gate.home.tokctl(
        "audit", "query", "--event", "call.*", "--limit", "1000", "-o", "jsonl"
    )
    seen = [json.loads(line) for line in trail.stdout.splitlines()]
    ends = [r for r in seen if r["event"] == "call.end" and r["tool"] == "python_code"]
    assert len(ends) >= 64, "one pair for each item"


def test_claim_01_rollout_exits_1_on_a_mismatch(trainer: Path, tmp_path: Path) -> None:
    actions = tmp_path / "actions"
    shutil.copytree(EXAMPLES / "actions", actions)
    for path in sorted(actions.glob("*"))[4:]:
        path.unlink()
    first = next(actions.glob("*.py"))
    first.write_text("print('something else')\n")
    done = rollout(trainer, "--actions", actions)
    assert done.returncode == 1, done.stdout + done.stderr
    assert first.stem in done.stdout + done.stderr, "it names the action"


PLAIN, FAILING, LONG = "01_sum_of_squares", "47_divide_by_zero", "59_prints_a_megabyte"


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """A folder of three actions: one that is fine, one that fails, one cut short."""
    folder = tmp_path / "actions"
    folder.mkdir()
    for name in (PLAIN, FAILING, LONG):
        for path in (EXAMPLES / "actions").glob(f"{name}.*"):
            shutil.copy(path, folder)
    return folder


def test_claim_01_rollout_of_a_folder_as_it_is_matches(
    trainer: Path, three: Path
) -> None:
    done = rollout(trainer, "--actions", three)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 of 3 as expected" in done.stderr


@pytest.mark.parametrize(
    ("name", "changed", "said"),
    [
        (PLAIN, {"status": "TOOL_ERROR"}, "status: expected 'TOOL_ERROR', seen 'OK'"),
        (FAILING, {"status": "OK"}, "status: expected 'OK', seen 'TOOL_ERROR'"),
        (PLAIN, {"exit_code": 1}, "exit code: expected 1, seen 0"),
        (FAILING, {"exit_code": 2}, "exit code: expected 2, seen 1"),
        (PLAIN, {"cause": "WALL"}, "cause: expected 'WALL', seen 'NONE'"),
        (FAILING, {"stderr_has": "KeyError"}, "stderr lacks 'KeyError'"),
        (PLAIN, {"stderr_has": "KeyError"}, "stderr lacks 'KeyError'"),
        (PLAIN, {"truncated": True}, "truncated: expected True, seen False"),
        (LONG, {"truncated": False}, "truncated: expected False, seen True"),
        (LONG, {"original_bytes": 7}, "original bytes: expected 7, seen"),
        (LONG, {"stdout_starts": "other"}, "stdout starts with"),
        (LONG, {"stdout_ends": "other"}, "stdout ends with"),
        (PLAIN, {"stdout": "338351\n"}, "stdout: expected '338351"),
        (PLAIN, {"stdout": ""}, "stdout: expected '', seen '338350"),
    ],
)
def test_claim_01_rollout_exits_1_when_one_thing_alone_differs(
    trainer: Path, three: Path, name: str, changed: dict[str, str | int], said: str
) -> None:
    action = three / f"{name}.py"
    expected = json.dumps(told(action) | changed)
    action.with_suffix(".expect.json").write_text(expected)
    done = rollout(trainer, "--actions", three)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"MISMATCH {name}: {said}" in done.stderr
    assert "2 of 3 as expected" in done.stderr
