#!/usr/bin/env python3
"""Fail on what must not stand in a text: unfinished marks, machine paths, skips."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

import tree


class Ban(NamedTuple):
    """A pattern, the files it is banned from, and why."""

    pattern: re.Pattern[str]
    globs: tuple[str, ...]
    why: str


# A bracket in each pattern keeps this file from matching itself.
BANS = (
    Ban(
        re.compile(r"/wor[k]/(main|steering|\.)|/far[m]/|/hom[e]/[a-z]+/|/roo[t]/\."),
        (".", ":!*.json"),
        "a path of one machine",
    ),
    Ban(
        re.compile(r"\b(TOD[O]|FIXM[E]|XX[X])\b"),
        (".",),
        "an unfinished mark: finish it or file it",
    ),
    Ban(
        re.compile(
            r"\bpytest\.ski[p]|\bmark\.ski[p]|\bski[p]if\b|\bski[p]\(\)|importorski[p]"
            r"|unittest\.ski[p]|\bSki[p]Test\b|\bxfai[l]|collect_ignor[e]"
            r"|__test_[_]\s*=\s*False|\bDISABLE[D]\b"
        ),
        ("tests/*", "clients/*", "*.cmake", "*CMakeLists.txt"),
        "a test that does not run, or whose failure does not count",
    ),
    Ban(
        re.compile(
            r"\b(strtok|localtime|gmtime|asctime|ctime|rand|inet_ntoa|tmpnam|ttyname)\("
        ),
        ("*.c", "*.h"),
        "a function that threads may not share: take its _r form",
    ),
    Ban(
        re.compile(r"\bgot[o]\b[^;\n]*;"),  # clang-tidy's check is for C++ alone
        ("*.c", "*.h"),
        "a jump: return from a function of its own, free by WD_AUTO",
    ),
    Ban(re.compile(r"[ \t]+$", re.M), ("*.c", "*.h", "*.py", "*.sh"), "trailing space"),
)


def problems() -> Iterator[str]:
    """Each match, with its place."""
    for ban in BANS:
        for name in tree.files(*ban.globs):
            text = tree.read(name)
            for match in ban.pattern.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                yield f"{name}:{line}: {ban.why}: {match.group().strip()}"


if __name__ == "__main__":
    sys.exit(tree.report("words", problems()))
