#!/usr/bin/env python3
"""check_flags.py BUILD - fail when a C file was compiled without a warning, or not.

BUILD has made an object of every hand-written C file, with each flag of WANTED and none
that takes one back; what is generated has -Werror at least.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import tree

WANTED = (
    "-Werror -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion"
    " -Wstrict-prototypes -Wmissing-prototypes -Wcast-qual -Wcast-align -Wformat=2"
    " -Wundef -Wvla -Wswitch-enum -Wimplicit-fallthrough -Wnull-dereference"
).split()
WANTED_OF_GCC = "-Wlogical-op -Wduplicated-cond -Wduplicated-branches -Walloca".split()

# protoc-c's initializers cast const away where they are used: see flags.cmake.
ALLOWED_TO_CLANG = {"-Wno-cast-qual"}


def faults(words: Sequence[str]) -> Iterator[str]:
    """What is wrong with the flags of a hand-written file."""
    is_clang = "clang" in Path(words[0]).name
    for flag in (*WANTED, *(() if is_clang else WANTED_OF_GCC)):
        if flag not in words:
            yield f"is compiled without {flag}"
    for word in words:
        taken_back = word in ("-w", "-fpermissive") or word.startswith("-Wno-")
        if taken_back and not (is_clang and word in ALLOWED_TO_CLANG):
            yield f"is compiled with {word}"


def problems(build: Path) -> Iterator[str]:
    """Those of every file that BUILD compiles, and every file that it does not."""
    entries = json.loads((build / "compile_commands.json").read_text())
    ours = frozenset(tree.files("*.c"))
    left = set(ours)
    for entry in entries:
        name = str(entry["file"]).removeprefix(f"{tree.ROOT}/")
        words = shlex.split(entry["command"])
        if name in ours:
            yield from (f"{name}:1: {fault}" for fault in faults(words))
            if (Path(entry["directory"]) / entry["output"]).exists():
                left.discard(name)
        elif "-Werror" not in words or "-w" in words:
            yield f"{name}:1: is generated, and compiled without -Werror"
    yield from (f"{name}:1: {build.name} does not compile it" for name in sorted(left))


if __name__ == "__main__":
    sys.exit(tree.report("flags", sorted(set(problems(Path(sys.argv[1]).resolve())))))
