"""The layers that the program knows, and their cures: its own table, preprocessed.

Example:
    assert text.endswith(cures()["landlock"])
"""

from __future__ import annotations

import functools
import re
import subprocess

from tests.support.jobs import ROOT

TABLE = """\
#include "server/executor/layer.h"
WD_LAYER_MAP(ROW)
"""
ROW = re.compile(
    r'ROW\(\w+, "([a-z-]+)", (true|false|1|0), ((?:\s*"(?:[^"\\]|\\.)*")+)\)'
)
PIECE = re.compile(r'"((?:[^"\\]|\\.)*)"')


@functools.cache
def rows() -> list[tuple[str, bool, str]]:
    """Name, whether it is mandatory, and cure, in the table's order."""
    done = subprocess.run(
        ["cc", "-E", "-P", "-I", ROOT, "-x", "c", "-"],
        input=TABLE,
        capture_output=True,
        text=True,
        check=True,
    )
    found = []
    for name, duty, cure in ROW.findall(done.stdout):
        text = "".join(PIECE.findall(cure)).replace('\\"', '"')
        found.append((name, duty in ("true", "1"), text))
    return found


def cures() -> dict[str, str]:
    """The cure of each layer."""
    return {name: cure for name, _, cure in rows()}


def mandatory() -> set[str]:
    """The layers without which nothing starts."""
    return {name for name, duty, _ in rows() if duty}
