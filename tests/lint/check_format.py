#!/usr/bin/env python3
"""Fail when clang-format would change a C file."""

from __future__ import annotations

import subprocess
import sys

import tree


def main() -> int:
    """Run clang-format over all of them."""
    names = [*tree.files("*.c"), *tree.files("*.h"), *tree.maybe("*.cc")]
    command = ["clang-format", "--dry-run", "-Werror", *names]
    return subprocess.run(command, cwd=tree.ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
