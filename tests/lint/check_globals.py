#!/usr/bin/env python3
"""check_globals.py BUILD - fail when our objects hold a writable variable.

Every object in BUILD made of a hand-written file outside tests/ is looked at: what is
neither in .rodata nor, a const table with pointers, in .data.rel.ro is writable.
globals.allow names the few that may be as FILE:SYMBOL.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import tree

# Address, flags, section, size, name. An object's flag is O, but not a thread's.
SYMBOL = re.compile(r"[0-9a-f]+ (.{7}) (\S+)\t[0-9a-f]+\s+(?:\.\w+ )?(\S+)")
READ_ONLY = re.compile(r"\*UND\*|\.rodata\b.*|\.data\.rel\.ro\b.*")
OF_A_THREAD = re.compile(r"\.t(?:data|bss)\b.*")
GCC_SUFFIX = re.compile(r"\.\d+$")  # a static local's number
ALLOW = tree.ROOT / "tests/lint/globals.allow"


def allowed() -> dict[str, str]:
    """The lines of globals.allow: what may be, and why."""
    lines = (line.partition("#") for line in ALLOW.read_text().splitlines())
    return {name.strip(): why.strip() for name, _, why in lines if name.strip()}


def objects(build: Path) -> Iterator[tuple[str, Path]]:
    """(source, object) of every hand-written file that was compiled."""
    ours = set(tree.files("*.c"))
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = Path(entry["file"])
        if source.is_relative_to(tree.ROOT):
            name = str(source.relative_to(tree.ROOT))
            if name in ours and not name.startswith("tests/"):
                yield name, build / entry["output"]


def writable(path: Path) -> Iterator[str]:
    """Names of the writable variables of an object file."""
    command = ["objdump", "-t", str(path)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        match = SYMBOL.fullmatch(line)
        if match is None or "d" in match[1] or READ_ONLY.fullmatch(match[2]):
            continue
        if "O" in match[1] or OF_A_THREAD.fullmatch(match[2]):
            yield GCC_SUFFIX.sub("", match[3])


def problems(build: Path) -> Iterator[str]:
    """Variables that nobody allowed, and allowances that nobody needs."""
    allow, seen = allowed(), set()
    compiled = list(objects(build))
    left = set(tree.files("*.c")) - {source for source, _ in compiled}
    yield from (f"{n}: was not built" for n in left if not n.startswith("tests/"))
    for source, path in compiled:
        if not path.exists():
            yield f"{source}: was not built"
            continue
        for symbol in writable(path):
            name = f"{source}:{symbol}"
            seen.add(name)
            if name not in allow:
                yield f"{name}: a writable variable that globals.allow does not name"
    yield from (f"{n}: allowed, but not there" for n in allow if n not in seen)
    yield from (f"{n}: allowed without a reason" for n, why in allow.items() if not why)


if __name__ == "__main__":
    sys.exit(tree.report("globals", sorted(set(problems(Path(sys.argv[1]))))))
