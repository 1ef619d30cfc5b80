#!/usr/bin/env python3
"""Fail when docs/ name a test, a lint, a fuzz target or a file that is not there.

What stands in backticks is looked at: names of tests (`claim_08_*`; a Python test also
without its `test_`), `lint.NAME`, `fuzz.NAME`, and paths from the root. In a table
whose last column is headed "test", each row must name at least one, and each name there
is a test, a folder or file below tests/, or a payload, `files.NAME`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from fnmatch import filter as matching
from functools import cache

import tree

TICKED = re.compile(r"`([^`\n]+)`")
SURELY_A_TEST = re.compile(r"(test|claim_\d\d)_[\w*]+|(lint|fuzz)\.[\w*]+")
PATH = re.compile(r"[\w.*/-]+")
READERS_OWN = re.compile(r"(?<![A-Za-z])[A-Z]{4,}(?![a-z])")  # NAME, ROOM: the reader's
FENCE = re.compile(r"^```.*?^```\n", re.M | re.S)

# Where names of tests come from: files, and how one begins there.
TESTS = (
    ("tests/*.py", re.compile(r"^(?:async )?def (test_\w+)", re.M)),
    ("tests/*.c", re.compile(r"^static void\s+(\w+)\(\s*void \*\*", re.M)),
    ("tests/runner/lints.py", re.compile(r'^    "(lint\.\w+)":', re.M)),
)
PAYLOAD = re.compile(r'^    (?:    name=|refused\(\s*)"(\w+)"', re.M)


@cache
def tests() -> list[str]:
    """Every name that a text may call a test by."""
    names = [f"fuzz.{n[11:-2]}" for n in tree.files("tests/fuzz/*.c")]
    for glob, pattern in TESTS:
        for name in tree.files(glob):
            names += pattern.findall(tree.read(name))
    for name in tree.files("tests/sandbox/payloads/*.py"):
        stem = name.rpartition("/")[2].removesuffix(".py")
        names += [f"{stem}.{p}" for p in PAYLOAD.findall(tree.read(name))]
    return names + [n.removeprefix("test_") for n in names]


def is_test(word: str) -> bool:
    """Whether a test bears the name, or one that the glob matches."""
    return bool(matching(tests(), word))


@cache
def top() -> frozenset[str]:
    """The folders of the root."""
    return frozenset(name.partition("/")[0] for name in tree.files() if "/" in name)


def exists(path: str, base: str = ".") -> bool:
    """Whether a file or folder is there; `*` is any part of a name."""
    return any(True for _ in (tree.ROOT / base).glob(path.rstrip("/")))


def is_path(word: str) -> bool:
    """Whether it can only mean something below the root."""
    first, slash, _ = word.partition("/")
    return bool(slash and PATH.fullmatch(word) and first in top())


def in_text(text: str) -> Iterator[str]:
    """What is wrong with the names in a line."""
    for ticked in TICKED.findall(text):
        word = ticked.split()[0]
        if READERS_OWN.search(word):
            continue
        if SURELY_A_TEST.fullmatch(word) and not is_test(word):
            yield f"no test is called {word}"
        elif is_path(word) and not exists(word):
            yield f"{word} is not there"


def in_test_cell(cell: str) -> Iterator[str]:
    """What is wrong with the last cell of a row."""
    words = TICKED.findall(cell)
    if not words:
        yield f"no test is named: {cell.strip() or 'an empty cell'}"
    for word in words:
        if not is_test(word) and not exists(word, "tests"):
            yield f"{word} is neither a test nor below tests/"


def problems_of(text: str) -> Iterator[tuple[int, str]]:
    """Line number and problem."""
    tested = False
    for number, line in enumerate(text.splitlines(), 1):
        cells = line.strip("| ").split("|") if line.startswith("|") else []
        if not cells or cells[-1].strip() == "test":
            tested = bool(cells)
        elif tested and set(line) - set("|- "):
            yield from ((number, p) for p in in_test_cell(cells.pop()))
        words = "|".join(cells) if cells else line
        yield from ((number, p) for p in in_text(words))


def problems() -> Iterator[str]:
    """Every document's."""
    for name in ["README.md", *tree.files("docs/*.md")]:
        text = FENCE.sub(lambda m: "\n" * m[0].count("\n"), tree.read(name))
        for number, problem in problems_of(text):
            yield f"{name}:{number}: {problem}"


if __name__ == "__main__":
    sys.exit(tree.report("docs", problems()))
