#!/usr/bin/env python3
"""Fail when a file is of no kind that a lint or the build looks at.

What a file is, its name tells; without a suffix, its first line. A program that may be
run begins with one of the interpreters whose scripts are looked at. JSON, TOML and INI
must be readable.
"""

from __future__ import annotations

import configparser
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import PurePath

import tomllib
import tree


def read_ini(text: str) -> None:
    """Raises what is wrong with it."""
    configparser.ConfigParser(interpolation=None).read_string(text)


READERS: dict[str, Callable[[str], object]] = {
    ".json": json.loads,
    ".toml": tomllib.loads,
    ".ini": read_ini,
}

# Who looks at files with these suffixes, or of these names.
LOOKED_AT = {
    "clang-format, clang-tidy, layers, gcc and clang": (".c", ".h"),
    "clang-format": (".cc",),
    "ruff and mypy": (".py", ".pyi"),
    "shellcheck": (".sh", ".bash"),
    "protoc, in every build": (".proto",),
    "readme, docs and commands": (".md",),
    "cmake, in every build": (".cmake", "CMakeLists.txt", ".in"),
    "this one": tuple(READERS),
    "the linker": (".map",),
    "the lints, which read them": (
        ".allow",
        "layers.txt",
        ".clang-format",
        ".clang-tidy",
    ),
    "deploy/platform.sh": ("packages.txt",),
    "pip": ("requirements.txt",),
    "git": (".gitignore",),
    "systemd, where it is installed": (".service",),
    "mypy of who uses the client": ("py.typed",),
    "the fuzz targets": (".hex", ".yaml"),
    "tests/support/golden.py": (".golden",),
    "people": ("LICENSE",),
}
KNOWN = frozenset(name for names in LOOKED_AT.values() for name in names)
INTERPRETERS = ("python", "python3", *tree.SHELLS)


def problems_of(name: str) -> Iterator[str]:
    """What is wrong with a file."""
    path = PurePath(name)
    first = tree.first_line(name)
    program = tree.interpreter(first)
    if not {path.suffix, path.name} & KNOWN and program not in INTERPRETERS:
        yield "of no kind that a lint looks at (tests/lint/check_kinds.py)"
    if program and program not in INTERPRETERS:
        yield f"a script for {program}, which no lint looks at"
    if os.access(tree.ROOT / name, os.X_OK) and not program:
        yield "may be run, and does not say by what"
    try:
        READERS.get(path.suffix, str)(tree.read(name))
    except (ValueError, configparser.Error) as error:
        yield f"can't be read: {' '.join(str(error).split())}"


def problems() -> Iterator[str]:
    """Those of every file but what a model writes."""
    for name in tree.files():
        if not name.startswith(tree.ACTIONS):
            yield from (f"{name}:1: {problem}" for problem in problems_of(name))


if __name__ == "__main__":
    sys.exit(tree.report("kinds", problems()))
