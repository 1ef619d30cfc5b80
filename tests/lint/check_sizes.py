#!/usr/bin/env python3
"""Fail when a hand-written file outgrows what one can read in one go.

The length of functions is clang-tidy's and ruff's to check.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import tree

LIMIT_LINES = {"*.c": 400, "*.h": 150, "*.py": 300, "*.sh": 300}

# Tables that are read line by line, not in one go.
TABLES = {"server/executor/filter_lists.h"}


def problems() -> Iterator[str]:
    """Each file that is too long."""
    for glob, limit in LIMIT_LINES.items():
        for name in tree.files(glob):
            lines = len(tree.read(name).splitlines())
            if lines > limit and name not in TABLES:
                yield f"{name}: {lines} lines, limit {limit}"


if __name__ == "__main__":
    sys.exit(tree.report("sizes", problems()))
