#!/usr/bin/env python3
"""check_call_writers.py BUILD - fail when a file may write another's field of wd_call.

server/call.h groups the fields of struct wd_call under comments "set by NAME": those
server/NAME.c, server/NAME_stage.c and the files of server/NAME/ may write, and call.c
may write all. Fields before the first such comment are call.c's; those "of the queues"
whoever's who gives the call away. That keeps the pipeline one-way.

It is the compiler who judges. Each file of server/ is read by clang with a call.h of
its own, in which every field that is not its to write is const: whatever would write
one, or hand out its address to somebody who could, is an error then, in what words
ever. (What a field points to is not the field.) What const can't stop is forbidden to
all but call.c: to make another pointer or a number of a pointer to a call, to hold a
call by value, assembler, a pragma that silences the compiler, to search by libc in
what is const and hold what is found as what may be written; see call_queries.py.
Unseen stays who reckons from the address of what is his in a call, its task, to what
is not: `(char *)task + 8`.

BUILD is a clang build of the tree: how each file is compiled is read there.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePath
from typing import NamedTuple

import tree
from call_queries import CONST_FINDERS, QUERY

CALL_H = "server/call.h"
STRUCT = re.compile(r"^typedef struct wd_call \{(.*?)^\} wd_call;", re.S | re.M)
GROUP = re.compile(r"/\* (?:set by ([\w, ]+)|of the queues)")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
FIELD = re.compile(r"\s*(?:\w+[\s*]+)+(\w+)\s*(?:\[\w+\])?\s*")
FUNCTION_FIELD = re.compile(r"\s*(?:\w+[\s*]+)+\(\s*\*(\w+)\)\([^()]*\)\s*")
ANYONE = "whoever holds the call"
OWNER_OF_ALL = "call"
ELSEWHERE = "executor"

# Declared by each file's own call.h: the sign that it is the one that was read.
SEEN = "wd_call_of_the_lint"

# And whether the call.h that was read is the one that was meant to.
BOTH = {
    "seen": f'varDecl(hasName("{SEEN}"))',
    "defined": 'recordDecl(hasName("wd_call"), isDefinition())',
}
MATCHERS = [*QUERY.values(), *BOTH.values()]
DIAGNOSTIC = re.compile(r"^(/[^:\n]+):(\d+):\d+: (?:fatal )?(?:error|warning): (.*)$")
# In the initializers that protoc-c makes.
EMPTY_TEXT = re.compile(
    r"^/.*: error: cast from 'const char \*' to 'char \*' drops const.*\n"
    r"(?: .*\n)*/.*\.pb-c\.h:\d+:\d+: note: expanded from macro '\w+__INIT'$",
    re.M,
)
BINDS = re.compile(r'^(/[^:\n]+):(\d+):\d+: note: "w(\d+)" binds here$')
BLINDER = re.compile(
    r"^\s*(?:#|%:)\s*(?:pragma\b|(?:define|undef)\s+(?:const|wd_call)\b)|\b_Pragma\b",
    re.M,
)
FLAGS = ("-Wcast-qual", "-Wformat", "-ferror-limit=0", "-fno-color-diagnostics")


class Field(NamedTuple):
    """A field, where its name stands in call.h, and who may write it."""

    name: str
    at: int
    owners: frozenset[str]


class UnreadableError(Exception):
    """call.h does not have the form that this lint can judge."""


def blank(comment: re.Match[str]) -> str:
    """As long as the comment, so that places stay right."""
    return re.sub(r"[^\n]", " ", comment.group())


def fields(call_h: str) -> list[Field]:
    """The fields of struct wd_call; UnreadableError when one may be hidden."""
    found = STRUCT.search(call_h)
    if found is None or not GROUP.search(found.group(1)):
        raise UnreadableError("no struct wd_call with 'set by' groups")
    out = []
    body, at = COMMENT.sub(blank, found.group(1)), found.start(1)
    for declaration in re.finditer(r"[^;]+(?:;|\Z)", body):
        text = declaration.group()
        if not text.strip():
            continue
        match = FIELD.fullmatch(text[:-1]) or FUNCTION_FIELD.fullmatch(text[:-1])
        if match is None or not text.endswith(";"):
            raise UnreadableError(f"can't tell the field: {' '.join(text.split())}")
        place = at + declaration.start() + match.start(1)
        out.append(Field(match.group(1), place, owners(call_h[at:place])))
    return out


def owners(before: str) -> frozenset[str]:
    """Who may write a field, by what stands before it in the struct."""
    groups = list(GROUP.finditer(before))
    if not groups:
        return frozenset({OWNER_OF_ALL})
    who = groups[-1].group(1)
    return frozenset(re.findall(r"\w+", who) if who else [ANYONE]) | {OWNER_OF_ALL}


def rooms(name: str) -> frozenset[str]:
    """As whom a file may write."""
    path = PurePath(name)
    return frozenset({path.stem.removesuffix("_stage"), *path.parts[1:-1], ANYONE})


def view(call_h: str, mine: frozenset[str]) -> str:
    """call.h as one of these may see it: what is not theirs is const."""
    for field in reversed(fields(call_h)):
        if not field.owners & mine:
            call_h = f"{call_h[: field.at]}const {call_h[field.at :]}"
    end = call_h.rindex("#endif")
    return f"{call_h[:end]}extern const int {SEEN};\n{call_h[end:]}"


class Problem(NamedTuple):
    """Where, and what."""

    path: str
    line: int
    what: str

    def __str__(self) -> str:
        name = self.path.removeprefix(f"{tree.ROOT}/")
        return f"{name}:{self.line}: {self.what}"


class Reader:
    """Reads files through clang, each with its own call.h."""

    def __init__(self, call_h: str, folder: Path) -> None:
        self._call_h = call_h
        self._folder = folder
        binds = [f'match {m}.bind("w{n}")' for n, m in enumerate(MATCHERS)]
        script = folder / "query"
        script.write_text("\n".join(["set output diag", *binds, ""]))
        tidy = shutil.which("clang-tidy") or "clang-tidy"
        program = Path(tidy).resolve().with_name("clang-query")
        self._program = (str(program), "-f", str(script))

    def _header(self, mine: frozenset[str]) -> Path:
        folder = self._folder / "+".join(sorted(mine - {ANYONE}))
        (folder / "server").mkdir(parents=True, exist_ok=True)
        (folder / CALL_H).write_text(view(self._call_h, mine))
        return folder

    def _said(self, path: Path, mine: frozenset[str], flags: Sequence[str]) -> str:
        command = [*self._program, str(path), "--", "-xc", *flags, *FLAGS]
        command += ["-iquote", str(self._header(mine))]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    def problems(
        self, path: Path, mine: frozenset[str], flags: Sequence[str]
    ) -> Iterator[Problem]:
        """All that a file does and may not, when it may write as `mine`."""
        said = EMPTY_TEXT.sub("", self._said(path, mine, flags))
        lines = said.splitlines()
        binds = [match for line in lines if (match := BINDS.match(line))]
        matched = {MATCHERS[int(match[3])] for match in binds}
        for diagnostic in filter(None, map(DIAGNOSTIC.match, lines)):
            yield Problem(diagnostic[1], int(diagnostic[2]), diagnostic[3])
        for match in binds if OWNER_OF_ALL not in mine else []:
            for what in list(QUERY)[int(match[3]) : int(match[3]) + 1]:
                # The executor is another process: it sees no call, nor do its helpers.
                blind = ELSEWHERE in mine and BOTH["defined"] not in matched
                if not (blind and what in CONST_FINDERS):
                    yield Problem(match[1], int(match[2]), what)
        if len(re.findall(r"^\d+ match(?:es)?\.$", said, re.M)) != len(MATCHERS):
            yield Problem(str(path), 1, f"clang-query can't judge it: {said[:400]}")
        if len(matched & set(BOTH.values())) == 1:
            yield Problem(str(path), 1, f"has wd_call from elsewhere than {CALL_H}")


def flags_of(entry: dict[str, str]) -> list[str]:
    """How a file is compiled, without the file and without what it is made into."""
    words = shlex.split(entry["command"])[1:]
    for option, count in (("-c", 2), ("-o", 2)):
        at = words.index(option)
        del words[at : at + count]
    return words


def blinders(text: str) -> Iterator[tuple[int, str]]:
    """Line and problem of what keeps the compiler from seeing a const."""
    text = tree.without_comments(text.replace("\\\n", "\v"))
    for match in BLINDER.finditer(text):
        line = tree.line_of(text.replace("\v", "\n"), match.end())
        yield line, "blinds the compiler: a pragma, or another meaning of const"


def problems(build: Path) -> Iterator[Problem]:
    """Those of every file of the server, as many at once as there are cores."""
    entries = json.loads((build / "compile_commands.json").read_text())
    commands = {e["file"]: flags_of(e) for e in entries}
    with (
        tempfile.TemporaryDirectory() as folder,
        ThreadPoolExecutor(os.cpu_count() or 2) as pool,
    ):
        reader = Reader(tree.read(CALL_H), Path(folder))

        def judge(name: str) -> list[Problem]:
            path = tree.ROOT / name
            flags = commands.get(str(path))
            if flags is None:
                return [Problem(name, 1, f"{build} does not compile it")]
            return list(reader.problems(path, rooms(name), flags))

        for found in pool.map(judge, tree.files("server/*.c")):
            yield from found
    for name in tree.files("server/*.c", "server/*.h"):
        yield from (Problem(name, *found) for found in blinders(tree.read(name)))


if __name__ == "__main__":
    try:
        all_of_them = sorted(set(problems(Path(sys.argv[1]).resolve())))
    except UnreadableError as why:
        all_of_them = [Problem(CALL_H, 1, str(why))]
    if all_of_them:
        print(f"What is said to be const is another file's to write, by {CALL_H}:")
    sys.exit(tree.report("call writers", (str(p) for p in all_of_them)))
