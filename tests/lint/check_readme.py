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
            yield f"README.md does not name {command}"
        if not os.access(tree.ROOT / command, os.X_OK):
            yield f"{command} is not an executable file"
    if "tests/run.sh" not in tree.read(".ci/run"):
        yield ".ci/run does not run the README's tests/run.sh"
    for name in ["README.md", *tree.files("docs/*.md")]:
        base = (tree.ROOT / name).parent
        for link in LINK.findall(tree.read(name)):
            if not (base / link).exists():
                yield f"{name} links to {link}, which is not there"
    for room in ROOM.findall(readme):
        if not (tree.ROOT / room).is_dir():
            yield f"README.md tells of the folder {room}, which is not there"


if __name__ == "__main__":
    sys.exit(tree.report("readme", problems()))
