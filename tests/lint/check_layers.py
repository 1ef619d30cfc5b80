#!/usr/bin/env python3
"""Fail when a C file includes what its layer may not (rules: layers.txt)."""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

import tree

RULES = "tests/lint/layers.txt"
# Whatever brings in another file, and what of it can be judged.
DIRECTIVE = re.compile(r"^\s*(?:#|%:|\?\?=)\s*(?:include|import|embed)\w*.*$", re.M)
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]\s*')


class Rules(NamedTuple):
    """layers.txt, read."""

    guarded: list[str]
    layers: list[Layer]


class Layer(NamedTuple):
    """Which files, what of the tree they may include, which doors they may open."""

    files: list[str]
    project: list[str]
    doors: list[str]


def parse(text: str) -> Rules:
    """Read the table; a line that can't be read is an error."""
    guarded: list[str] = []
    layers = []
    joined = text.replace("\\\n", "\0")  # a line of the table, however it is cut
    for line in joined.splitlines():
        content = re.sub(r",\0\s*", ",", line.split("#")[0]).replace("\0", " ").strip()
        if content.startswith("guarded "):
            guarded += content.split()[1:]
        elif content:
            parts = [part.split() for part in content.split(":")]
            if len(parts) != 3 or len(parts[0]) != 1:
                raise SystemExit(f"{RULES}: not FILES : INCLUDES : DOORS: {content}")
            layers.append(Layer(expand(parts[0][0]), parts[1], parts[2]))
    return Rules(guarded, layers)


def expand(files: str) -> list[str]:
    """Each module by itself; a catch-all would let in files that nobody thought of."""
    if "*" in files and files != "tests/*":
        raise SystemExit(f"{RULES}: {files}: name the modules")
    before, brace, rest = files.partition("{")
    inner, _, after = rest.partition("}")
    return [f"{before}{word}{after}" for word in inner.split(",")] if brace else [files]


def under(name: str, prefixes: list[str]) -> bool:
    """Whether the name is a prefix, PREFIX.ext, in PREFIX/, or begins as PREFIX*."""
    return any(
        name == p
        or name.startswith((f"{p}/", f"{p}."))
        or (p.endswith("*") and name.startswith(p[:-1]))
        for p in prefixes
    )


def includes(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, bracket and name of every include; no bracket: it can't be judged."""
    text = tree.without_comments(text.replace("\\\n", "\v"))
    for directive in DIRECTIVE.finditer(text):
        match = INCLUDE.fullmatch(directive[0])
        line = tree.line_of(text.replace("\v", "\n"), directive.end())
        if match is None or posixpath.normpath(match[2]) != match[2]:
            yield line, "", directive[0].strip()
        else:
            yield line, match[1], match[2]


def is_ours(name: str) -> bool:
    """Whether the tree, or what is made from it, has a file of this name."""
    return (tree.ROOT / name).exists() or name.startswith(("warded/", "/"))


def may(layer: Layer, kind: str, name: str, guarded: list[str]) -> bool:
    """Whether a file of the layer may include the name."""
    if under(name, guarded):
        return under(name, layer.doors)
    return (kind == "<" and not is_ours(name)) or under(name, layer.project)


def problems(text: str) -> Iterator[str]:
    """Every include against the rules, every file without one, every idle rule."""
    rules = parse(text)
    used: set[int] = set()
    lines = [(files, layer) for layer in rules.layers for files in layer.files]
    for path in tree.files("*.c", "*.h"):
        names = (i for i, (files, _) in enumerate(lines) if fnmatchcase(path, files))
        line = next(names, None)
        if line is None:
            yield f"{path}: no line of {RULES} names this file"
            continue
        used.add(line)
        files, layer = lines[line]
        for number, kind, name in includes(tree.read(path)):
            if not kind:
                yield f"{path}:{number}: an include that can't be judged: {name}"
            elif not may(layer, kind, name, rules.guarded):
                yield f"{path}:{number}: may not include {name} (layer {files})"
    for line, (files, _) in enumerate(lines):
        if line not in used:
            yield f"{RULES}: no file is named by {files}, or one before names it"


if __name__ == "__main__":
    sys.exit(tree.report("layers", problems(tree.read(RULES))))
