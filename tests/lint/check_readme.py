#!/usr/bin/env python3
"""Fail when the README tells of what is not there: commands, links, rooms."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator

import tree

# The two commands that a newcomer is told to run.
COMMANDS = ("deploy/try.sh", "tests/run.sh")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
ROOM = re.compile(r"^\| `([^`]+/)`", re.M)


def problems() -> Iterator[str]:
    """What the README names and the tree lacks, and the other way round."""
    readme = tree.read("README.md")
    for command in COMMANDS:
        if command not in readme:
            yield f"README.md:1: does not name {command}"
        if not os.access(tree.ROOT / command, os.X_OK):
            yield f"{command}:1: is not an executable file"
    if "tests/run.sh" not in tree.read(".ci/run"):
        yield ".ci/run:1: does not run the README's tests/run.sh"
    for name in ["README.md", *tree.files("docs/*.md")]:
        base, text = (tree.ROOT / name).parent, tree.read(name)
        for link in LINK.finditer(text):
            if not (base / link[1]).exists():
                line = tree.line_of(text, link.start())
                yield f"{name}:{line}: links to {link[1]}, which is not there"
    for room in ROOM.finditer(readme):
        if not (tree.ROOT / room[1]).is_dir():
            line = tree.line_of(readme, room.start())
            yield f"README.md:{line}: the folder {room[1]} is not there"


if __name__ == "__main__":
    sys.exit(tree.report("readme", problems()))
