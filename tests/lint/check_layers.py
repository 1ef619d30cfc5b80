#!/usr/bin/env python3
"""Fail when a C file includes what its layer may not (rules: layers.txt)."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

import tree

RULES = "tests/lint/layers.txt"
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)


class Rules(NamedTuple):
    """layers.txt, read."""

    guarded: list[str]
    layers: list[Layer]


class Layer(NamedTuple):
    """Which files, what of the tree they may include, which doors they may open."""

    files: str
    project: list[str]
    doors: list[str]


def parse(text: str) -> Rules:
    """Read the table; a line that can't be read is an error."""
    guarded: list[str] = []
    layers = []
    for number, line in enumerate(text.splitlines(), 1):
        content = line.split("#")[0].strip()
        if content.startswith("guarded "):
            guarded += content.split()[1:]
        elif content:
            parts = [part.split() for part in content.split(":")]
            if len(parts) != 3 or len(parts[0]) != 1:
                raise SystemExit(f"{RULES}:{number}: not FILES : INCLUDES : DOORS")
            layers.append(Layer(parts[0][0], parts[1], parts[2]))
    return Rules(guarded, layers)


def under(name: str, prefixes: list[str]) -> bool:
    """Whether the name is a prefix, PREFIX.ext, in PREFIX/, or begins as PREFIX*."""
    return any(
        name == p
        or name.startswith((f"{p}/", f"{p}."))
        or (p.endswith("*") and name.startswith(p[:-1]))
        for p in prefixes
    )


def may(layer: Layer, kind: str, name: str, guarded: list[str]) -> bool:
    """Whether a file of the layer may include the name."""
    if under(name, guarded):
        return under(name, layer.doors)
    return kind == "<" or under(name, layer.project)


def problems() -> Iterator[str]:
    """Every include against the rules, every file without one, every idle rule."""
    rules = parse(tree.read(RULES))
    used = set()
    for path in tree.files("*.c", "*.h"):
        layer = next((r for r in rules.layers if fnmatchcase(path, r.files)), None)
        if layer is None:
            yield f"{path}: no line of {RULES} names this file"
            continue
        used.add(layer.files)
        for kind, name in INCLUDE.findall(tree.read(path)):
            if not may(layer, kind, name, rules.guarded):
                yield f"{path}: may not include {name} (layer {layer.files})"
    for layer in rules.layers:
        if layer.files not in used:
            yield f"{RULES}: no file is named by {layer.files}"


if __name__ == "__main__":
    sys.exit(tree.report("layers", problems()))
