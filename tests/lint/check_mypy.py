#!/usr/bin/env python3
"""check_mypy.py BUILD - fail when mypy --strict finds fault with a Python file.

Who uses the client is checked against what a build made of it, BUILD/python.
"""

from __future__ import annotations

import os
import subprocess
import sys

import tree

BUILT = f"{sys.argv[1]}/python"

# Where imports start. Each group of files is checked with its own.
GROUPS = {
    "clients/python/src/": ["clients/python/src"],
    "clients/python/": [BUILT],
    "clients/codegen/": ["clients/codegen"],
    "server/executor/": ["server/executor"],
    "tests/lint/": ["tests/lint"],
    "tests/": [".", BUILT],
}


def group_of(name: str) -> str:
    """The first group whose folder holds the file."""
    return next((g for g in GROUPS if name.startswith(g)), "")


def main() -> int:
    """Check each group."""
    names = tree.python()
    worst = 0
    for group, paths in GROUPS.items():
        mine = [n for n in names if group_of(n) == group]
        if mine:
            env = {**os.environ, "MYPYPATH": ":".join(paths)}
            command = ["mypy", "--config-file", "tests/lint/mypy.ini", *mine]
            done = subprocess.run(command, cwd=tree.ROOT, env=env, check=False)
            worst = max(worst, done.returncode)
    for name in (n for n in names if not group_of(n)):
        print(f"{name}: no group of check_mypy.py holds it")
        worst = 1
    return worst


if __name__ == "__main__":
    sys.exit(main())
