#!/usr/bin/env python3
"""Fail when ruff finds fault with a Python file, or would format it otherwise."""

from __future__ import annotations

import subprocess
import sys

import tree

CONFIG = "tests/lint/ruff.toml"


def main() -> int:
    """Check, then compare the format."""
    worst = 0
    for command in (
        ["ruff", "check", "--no-cache", "--output-format=concise"],
        ["ruff", "format", "--diff"],
    ):
        arguments = [*command, "--force-exclude", "--config", CONFIG, *tree.python()]
        done = subprocess.run(arguments, cwd=tree.ROOT, check=False)
        worst = max(worst, done.returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main())
