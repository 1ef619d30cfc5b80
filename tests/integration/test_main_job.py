"""The example that the README shows, run as a trainer runs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

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


def test_claim_01_rollout_of_64_actions_matches(trainer: Path, gate: Gate) -> None:
    done = rollout(trainer, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    actions = sorted((EXAMPLES / "actions").glob("*.py"))
    assert len(actions) == 64
    assert len({a.read_text() for a in actions}) == 64, "all distinct"
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
