#!/usr/bin/env python3
"""Fail when a field of wd_call is written by another file than call.h names.

server/call.h groups the fields of struct wd_call under comments "set by NAME"; only
server/NAME.c, server/NAME_stage.c or a file of server/NAME/ may assign them, whole or
in part, or take their address where the line does not say const. (Elements of an array
that a field points to are not the field.) That keeps the pipeline one-way. A call is
whatever a file or a header of server/ declares as one, by whatever name, and what is
cast to one; to overwrite it whole is call.c's alone. Fields before the first such
comment are set where the call is made (call.c); those under "of the queues" by whoever
gives the call away.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import PurePath

import tree

STRUCT = re.compile(r"(?:typedef )?struct wd_call \{(.*?)^\}", re.S | re.M)
GROUP = re.compile(r"/\* (?:set by ([\w, ]+)|of the queues)")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
FIELD = re.compile(r"\*?(\w+)(?:\[[^\]]*\])*(?:\s*:\s*\d+)?\s*[;,]")
FUNCTION_FIELD = re.compile(r"\(\*(\w+)\)\([^;]*\);")
DECLARED = re.compile(
    r"\bwd_call (?:const )?([*\s]*(?:const )?\w+(?:, \*\w+)*)\b(?!\()"
)
CAST = (
    r"\(\s*\(\s*(?:struct )?wd_call \*\s*\)[^;{}]*?\)"
    r"|WD_CONTAINER\([^;{}]*?\bwd_call\b[^;{}]*?\)"
)
ANYONE = "whoever holds the call"
WHOLE = "*"  # in place of a field


def fields_of(body: str) -> list[str]:
    """Names of the fields declared in a piece of a struct."""
    body = COMMENT.sub("", body)
    names = FUNCTION_FIELD.findall(body)
    return names + FIELD.findall(FUNCTION_FIELD.sub("", body))


def owners(call_h: str) -> dict[str, set[str]]:
    """For each field, who may write it."""
    match = STRUCT.search(call_h)
    if match is None:
        return {}
    parts = GROUP.split(match.group(1))
    out: dict[str, set[str]] = {name: {"call"} for name in fields_of(parts[0])}
    for who, body in zip(parts[1::2], parts[2::2], strict=True):
        rest = body.split("*/", 1)[-1]  # what is left of the comment itself
        names = set(re.findall(r"\w+", who)) if who else {ANYONE}
        out |= {field: names | {"call"} for field in fields_of(rest)}
    return out


def declared(source: str) -> set[str]:
    """The names by which a file knows a call."""
    names = {"call"}
    for match in DECLARED.finditer(COMMENT.sub(blank, source)):
        names |= set(re.findall(r"\w+", match.group(1))) - {"const"}
    return names


def writes(names: set[str]) -> tuple[re.Pattern[str], ...]:
    """What a write looks like: to a field, a step of one, its address, a whole call."""
    name = "|".join(sorted(names))
    to = (
        rf"(?:\b(?:{name})\s*(?:->|\[[^\]]*\]\s*\.|\.)"
        rf"|\(\s*\*\s*(?:{name})\s*\)\s*(?:\.|->)|(?:{CAST})\s*->)\s*"
    )
    return (
        re.compile(rf"{to}(\w+)[\w.\[\]]*\s*(?:(?:<<|>>|[-+|&^*/%])?=(?!=)|\+\+|--)"),
        re.compile(rf"(?:\+\+|--)\s*\(?{to}(\w+)"),
        re.compile(rf"(?<!&)&\s*{to}(\w+)\b(?!\[|[\w.]*->)"),
        re.compile(rf"(?:^|[;{{}}])\s*\*\s*(?:{name})()\s*=(?!=)", re.M),
        re.compile(rf"\bmem(?:set|cpy|move)\(\s*&?(?:{name})()\s*,"),
    )


def written(source: str, known: set[str]) -> Iterator[tuple[int, str]]:
    """(line, field) of every write in a file; `known`: names from headers."""
    text = COMMENT.sub(blank, source)
    lines = text.splitlines()
    assigned, stepped, address, whole, filled = writes(known | declared(source))
    for pattern in (assigned, stepped, address, whole, filled):
        for match in pattern.finditer(text):
            field = match.group(1) or WHOLE
            number = text.count("\n", 0, match.start(1)) + 1
            if pattern is not address or "const " not in lines[number - 1]:
                yield number, field


def blank(comment: re.Match[str]) -> str:
    """The comment's line ends, so that numbers stay right."""
    return "\n" * comment.group().count("\n")


def problems(owner: dict[str, set[str]]) -> Iterator[str]:
    """Every write by someone else."""
    if not owner:
        yield "server/call.h: no struct wd_call with 'set by' groups"
    known = set().union(*(declared(tree.read(n)) for n in tree.files("server/*.h")))
    for name in tree.files("server/*.c", "server/*.h"):
        path = PurePath(name)
        rooms = {path.stem.removesuffix("_stage"), *path.parts[1:-1]}
        for line, field in written(tree.read(name), known):
            if field == WHOLE:
                if path.stem != "call":
                    yield f"{name}:{line}: overwrites a whole call"
            elif field not in owner:
                yield f"{name}:{line}: call->{field}: no field that call.h groups"
            elif not owner[field] & {*rooms, ANYONE}:
                whose = ", ".join(sorted(owner[field]))
                yield f"{name}:{line}: writes call->{field}, which only {whose} may"


if __name__ == "__main__":
    call_h = tree.ROOT / "server/call.h"
    text = call_h.read_text() if call_h.exists() else ""
    sys.exit(tree.report("call writers", problems(owners(text))))
