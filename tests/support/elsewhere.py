"""Where deploy/try.sh puts a state whose own place the gate's account can't reach."""

from __future__ import annotations

import subprocess
from pathlib import Path

FOLDER = Path("/var/tmp")


def elsewhere(state: Path) -> Path:
    """The place that stands for this one; other tries have others."""
    made = subprocess.run(
        ["cksum"], input=str(state), capture_output=True, text=True, check=True
    )
    return FOLDER / f"warded-try-{made.stdout.split()[0]}"
