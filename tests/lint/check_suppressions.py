#!/usr/bin/env python3
"""Fail when a lint is told to look away without saying from what, or why.

    /* NOLINT(check): reason */   also NEXTLINE and BEGIN, the reason before or after
    /* reason */                  and in the next line
    /* clang-format off */
    # noqa: CODE  # reason        # type: ignore[code]  # reason
    # ruff: noqa: CODE  # reason
    # shellcheck disable=SC1234 # reason

A reason is two words at least. In Python it may also stand in a line of its own above,
for the lines with marks that follow. Pragmas that silence a compiler are refused, and
so is what hides more than a line or two from ruff or mypy. `# fmt: skip` needs none: it
hides no fault.
"""

from __future__ import annotations

import io
import re
import sys
import tokenize
from collections.abc import Iterator

import tree

Found = Iterator[tuple[int, str]]

REASON = re.compile(r"[^\W\d_][\w'-]*\W+(?:\w+\W+)*?[^\W\d_][\w'-]*")
NOLINT = re.compile(r"NOLINT(NEXTLINE|BEGIN|END)?(?![A-Z])(\(\s*[^()]+\))?")
ABOVE = re.compile(r"\w+\W+\w+[^\n]*\*/\n[ \t]*\Z")
PRAGMA = re.compile(r"^\s*#\s*pragma\s+(?:GCC|clang)\b.*|\b_Pragma\b", re.M)
SHELL = re.compile(r"#\s*shellcheck\s+(disable=(?:SC\d{4},?)+)?(.*)")

# In Python: the mark, and the mark as it must be.
PYTHON = (
    (re.compile(r"\bnoqa\b(?:: *[A-Z]+\d+(?:, *[A-Z]+\d+)*)?"), "noqa: "),
    (re.compile(r"type: *ignore(?:\[[\w, -]+\])?"), "type: ignore["),
    (re.compile(r"fmt: *off|\b(?:mypy|pylint|isort|pyright): *[\w-]+"), "not allowed"),
    (re.compile(r"pragma: *no *\w+"), "not allowed"),
)
NEAR = 3  # lines from one mark to the next

NO_REASON = "looks away without a reason"


def says_why(text: str) -> bool:
    """Whether what is left beside the mark is a reason."""
    return REASON.search(text) is not None


def in_c(text: str) -> Found:
    """Marks in comments, and pragmas."""
    for match in PRAGMA.finditer(tree.without_comments(text)):
        yield tree.line_of(text, match.end()), f"silences the compiler: {match[0]}"
    for comment in tree.COMMENT.finditer(text):
        if comment[1]:
            continue
        for mark in NOLINT.finditer(comment[0]):
            line = tree.line_of(text, comment.start() + mark.start())
            rest = NOLINT.sub("", comment[0]).replace("ruff:", "")
            if mark[2] is None:
                yield line, "looks away from everything: NOLINT(what)"
            elif mark[1] != "END" and not says_why(rest):
                yield line, f"{NO_REASON}: {mark[0]}"
        if "clang-format off" in comment[0] and not ABOVE.search(
            text[: comment.start()]
        ):
            yield tree.line_of(text, comment.start()), f"{NO_REASON}: {comment[0]}"


def comments(text: str) -> dict[int, tuple[str, bool]]:
    """By line: the comment, and whether it is all that the line has."""
    out = {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            alone = not token.line[: token.start[1]].strip()
            out[token.start[0]] = (token.string, alone)
    return out


def faults_of(comment: str, above: str) -> Iterator[str]:
    """What is wrong with the marks of a comment."""
    marks = [(m, form) for mark, form in PYTHON for m in mark.finditer(comment)]
    rest = comment.replace("ruff:", "")
    for mark, _ in PYTHON:
        rest = mark.sub("", rest)
    for found, form in marks:
        if not found[0].startswith(form):
            yield f"looks away from everything: {found[0]}"
        elif not says_why(rest) and not says_why(above):
            yield f"{NO_REASON}: {found[0]}"


def in_python(text: str) -> Found:
    """Marks in comments; a reason above holds for the lines that follow it."""
    above, last = "", 0
    for line, (comment, alone) in comments(text).items():
        marked = any(mark.search(comment) for mark, _ in PYTHON)
        if marked:
            why = above if line - last <= NEAR else ""
            yield from ((line, fault) for fault in faults_of(comment, why))
            above, last = why, line
        elif alone:
            above, last = comment, line


def in_shell(text: str) -> Found:
    """Directives that switch a check off; other directives pass."""
    for number, line in enumerate(text.splitlines(), 1):
        mark = SHELL.search(line)
        if mark and "disable" in line and not (mark[1] and says_why(mark[2])):
            yield number, f"{NO_REASON}: {mark[0]}"


def problems() -> Iterator[str]:
    """Every file's."""
    looks = (
        ([*tree.files("*.c"), *tree.files("*.h"), *tree.maybe("*.cc")], in_c),
        (tree.python(), in_python),
        (tree.shell(), in_shell),
    )
    for names, look in looks:
        for name in names:
            for line, problem in look(tree.read(name)):
                yield f"{name}:{line}: {problem}"


if __name__ == "__main__":
    sys.exit(tree.report("suppressions", problems()))
