#!/usr/bin/env python3
"""Fail when a field of wd_call is written by another file than call.h names.

server/call.h groups the fields of struct wd_call under comments "set by NAME"; only
server/NAME.c, server/NAME_stage.c or a file of server/NAME/ may assign them, whole or
in part, or take their address where the line does not say const. (Elements of an array
that a field points to are not the field.) That keeps the pipeline one-way. Fields
before the first such comment are set where the call is made (call.c); those under "of
the queues" by whoever gives the call away.
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
WRITE = re.compile(r"\bcall->(\w+)[\w.\[\]]*\s*(?:[-+|&^*/]?=(?!=)|\+\+|--)")
STEP = re.compile(r"(?:\+\+|--)call->(\w+)")
ANYONE = "whoever holds the call"
ADDRESS = re.compile(r"(?<!&)&call->(\w+)\b(?!\[|[\w.]*->)")


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


def written(source: str) -> Iterator[tuple[int, str]]:
    """(line, field) of every write in a file."""
    for number, line in enumerate(COMMENT.sub(blank, source).splitlines(), 1):
        found = [*WRITE.findall(line), *STEP.findall(line)]
        if "const " not in line:
            found += ADDRESS.findall(line)
        yield from ((number, field) for field in found)


def blank(comment: re.Match[str]) -> str:
    """The comment's line ends, so that numbers stay right."""
    return "\n" * comment.group().count("\n")


def problems(owner: dict[str, set[str]]) -> Iterator[str]:
    """Every write by someone else."""
    if not owner:
        yield "server/call.h: no struct wd_call with 'set by' groups"
    for name in tree.files("server/*.c", "server/*.h"):
        path = PurePath(name)
        rooms = {path.stem.removesuffix("_stage"), *path.parts[1:-1]}
        for line, field in written(tree.read(name)):
            if field not in owner:
                yield f"{name}:{line}: call->{field}: no field that call.h groups"
            elif not owner[field] & {*rooms, ANYONE}:
                whose = ", ".join(sorted(owner[field]))
                yield f"{name}:{line}: writes call->{field}, which only {whose} may"


if __name__ == "__main__":
    call_h = tree.ROOT / "server/call.h"
    text = call_h.read_text() if call_h.exists() else ""
    sys.exit(tree.report("call writers", problems(owners(text))))
