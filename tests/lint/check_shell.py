#!/usr/bin/env python3
"""Fail when shellcheck finds fault with a shell script, whatever its name."""

from __future__ import annotations

import subprocess
import sys

import tree


def main() -> int:
    """Run shellcheck over all of them."""
    command = ["shellcheck", "--external-sources", "--format=gcc", *tree.shell()]
    return subprocess.run(command, cwd=tree.ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
