#!/usr/bin/env python3
"""Fail when README.md or docs/ tell of a command or an option that is not there.

Looked at are words in backticks and the lines of fenced blocks: what follows `warded`
and `tokctl` must be a command (or a NAME of the reader's) of the table in main.c, or of
the rows in `cmd_*.c`; its options must stand in an option table of that program, and so
must the options of a script (deploy/try.sh --keep) in the script's own text.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from functools import cache

import tree

TICKED = re.compile(r"`([^`\n]+)`")
FENCE = re.compile(r"^```\w*\n(.*?)^```", re.M | re.S)
SCRIPT = re.compile(r"(?:deploy|tests)/[\w/]+(?:\.sh|/run)|\.ci/run")
OPTION = re.compile(r"""^\s*\{"([a-z0-9-]+)", (?:'.'|OPTION_\w+|\d+),""", re.M)

# Of each program: where its table of commands is, a line of it, its option tables.
PROGRAMS = {
    "warded": (
        "server/main.c",
        re.compile(r'^    \{(NULL, )?"(\w+)", wd_cmd_', re.M),
        ("server/main.c", "server/cmd_*.c"),
    ),
    "tokctl": (
        "store/tokctl/cmd_*.c",
        re.compile(r'^    (?:\.group = "(\w+)",\n    )?\.name = "([\w-]+)",', re.M),
        ("store/tokctl/*.c",),
    ),
}
# Words of the second place.
SECOND = {("warded", "profile"): {"new"}}


@cache
def commands(program: str) -> frozenset[tuple[str, ...]]:
    """("init",), ("audit", "tail"), ..."""
    paths, line, _ = PROGRAMS[program]
    found: set[tuple[str, ...]] = set()
    for path in tree.files(paths):
        for group, name in line.findall(tree.read(path)):
            found.add((group, name) if group.strip(", NUL") else (name,))
    return frozenset(found)


@cache
def options(program: str) -> frozenset[str]:
    """Long options of all its commands."""
    names = {"help", "version", "usage"}
    for name in tree.files(*PROGRAMS[program][2]):
        names |= set(OPTION.findall(tree.read(name)))
    return frozenset(names)


def is_the_readers(word: str) -> bool:
    """NAME, DIR, "...": what a reader puts in."""
    return not word or word.upper() == word or word.startswith(("...", "<", "$"))


def wrong_command(program: str, words: Sequence[str]) -> Iterator[str]:
    """What is wrong with a command line of one of ours."""
    for word in words:
        option = word.partition("=")[0]
        if option.startswith("--") and option[2:] not in options(program):
            yield f"{program} has no option {option}"
    rest = list(words)
    while rest and rest[0].startswith("-"):  # those before the command
        del rest[: 1 if "=" in rest[0] or rest[0] in ("--help", "-h") else 2]
    plain = [w for w in rest if w != "help"]
    if not plain or is_the_readers(plain[0]) or plain[0].startswith("-"):
        return
    known = commands(program)
    groups = {c[0] for c in known if len(c) > 1}
    if (plain[0],) not in known and plain[0] not in groups:
        yield f"{program} has no command {plain[0]}"
    seconds = {c[1] for c in known if len(c) > 1 and c[0] == plain[0]}
    seconds |= SECOND.get((program, plain[0]), set())
    if seconds and len(plain) > 1 and not plain[1].startswith("-"):
        alternatives = re.split(r"[|/]", plain[1])
        yield from (
            f"{program} {plain[0]} has no {word}"
            for word in alternatives
            if word not in seconds and not is_the_readers(word)
        )


def wrong_script(script: str, words: Sequence[str]) -> Iterator[str]:
    """What is wrong with a call of a script."""
    path = tree.ROOT / script
    if not path.is_file():
        yield f"{script} is not there"
        return
    text = path.read_text(encoding="utf-8", errors="replace")
    for word in words:
        if re.match(r"[\w./]*/bin/|[A-Z_]+=|python3$|env$|sh$", word):
            return  # from here on another program's
        if word.startswith("--") and word not in text and word != "--help":
            yield f"{script} has no option {word}"


def problems_of(line: str) -> Iterator[str]:
    """Of one command line, with what stands before and after it."""
    for part in re.split(r"\s+#\s|\s*[;|]\s|&&", line):
        try:
            words = shlex.split(part.strip().rstrip("\\"))
        except ValueError:
            words = part.split()
        for at, word in enumerate(words):
            name = word.rpartition("/")[2]
            if name in PROGRAMS and (name == word or "/bin/" in word):
                yield from wrong_command(name, words[at + 1 :])
                break
            if SCRIPT.fullmatch(word) and at == 0:
                yield from wrong_script(word, words[at + 1 :])


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    """Line number and text of all that may be a command."""
    for match in FENCE.finditer(text):
        first = text.count("\n", 0, match.start(1)) + 1
        joined = match.group(1).replace("\\\n", "  ")
        yield from enumerate(joined.splitlines(), first)
    blanked = FENCE.sub(lambda m: "\n" * m[0].count("\n"), text)
    for number, line in enumerate(blanked.splitlines(), 1):
        yield from ((number, words) for words in TICKED.findall(line))
        if line.startswith("    "):
            yield number, line


def problems() -> Iterator[str]:
    """Every document's."""
    for name in ["README.md", *tree.files("docs/*.md", "clients/*.md")]:
        for number, line in lines_of(tree.read(name)):
            yield from (f"{name}:{number}: {p}" for p in problems_of(line))


if __name__ == "__main__":
    sys.exit(tree.report("commands", problems()))
