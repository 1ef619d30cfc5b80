#!/usr/bin/env python3
"""Fail when a hand-written file, or a function of Python, outgrows what one can read.

The functions of C are clang-tidy's to measure; those of Python, python_sizes.py's.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import python_sizes
import tree

# Tables that are read line by line, not in one go.
TABLES = {"server/executor/filter_lists.h"}


def limits() -> Iterator[tuple[int, list[str]]]:
    """How many lines these may have."""
    yield 400, tree.files("*.c")
    yield 150, tree.files("*.h")
    yield 300, tree.python()
    yield 300, tree.shell()


def problems() -> Iterator[str]:
    """Each file that is too long, and each function."""
    for limit, names in limits():
        for name in names:
            lines = len(tree.read(name).splitlines())
            if lines > limit and name not in TABLES:
                yield f"{name}:{limit + 1}: {lines} lines, limit {limit}"
    for name in tree.python():
        for line, problem in python_sizes.problems(tree.read(name)):
            yield f"{name}:{line}: {problem}"


if __name__ == "__main__":
    sys.exit(tree.report("sizes", problems()))
