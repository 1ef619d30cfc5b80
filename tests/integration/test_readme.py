"""What the README tells a newcomer to run does what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import NewGate, NewHome

ROOT = Path(__file__).resolve().parents[2]
HELLO = ROOT / "clients/python/examples/hello.py"


@pytest.fixture
def block() -> str:
    """The README's Python."""
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert found is not None
    return found[1]


def test_claim_14_the_readmes_ten_lines_are_the_example(block: str) -> None:
    assert HELLO.read_text().partition("\n\n")[2] == block
    assert len(block.strip().splitlines()) <= 10


def test_claim_14_the_readmes_ten_lines_print_what_it_says(
    new_home: NewHome, new_gate: NewGate, block: str
) -> None:
    home = new_home()
    trainer = home.profile("trainer", "observe:python_code")
    new_gate(home)
    done = subprocess.run(
        [sys.executable, "-c", block],
        env=os.environ | {"WARDED_PROFILE": str(trainer)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "OK 42\n\n"), done.stderr


def test_claim_14_the_readme_says_where_the_profile_is() -> None:
    """deploy/try.sh leaves it there wherever the gate's state had to go."""
    readme = (ROOT / "README.md").read_text()
    assert "WARDED_PROFILE=build/try/profile/trainer" in readme
    assert "examples/hello.py" in readme
