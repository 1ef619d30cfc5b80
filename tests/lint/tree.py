"""What the lints share: the files of the tree, and how a check ends."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# The checkout may belong to the user whose sudo runs us.
GIT = ("git", "-c", "safe.directory=*")


def files(*globs: str) -> list[str]:
    """Paths from the root, tracked or about to be, that one of the globs matches."""
    command = [*GIT, "ls-files", "-z", "-co", "--exclude-standard", "--", *globs]
    out = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    names = sorted(set(out.stdout.split("\0")) - {""})
    return [name for name in names if (ROOT / name).is_file()]


def scripts(word: str) -> list[str]:
    """Files, whatever their suffix, whose first line says that `word` runs them."""
    return [name for name in files() if interpreter(name) == word]


def interpreter(name: str) -> str:
    """The program that the first line of a script names, or nothing."""
    with (ROOT / name).open("rb") as file:
        first = file.readline(200).decode(errors="replace").strip()
    return re.split(r"[/ ]", first)[-1] if first.startswith("#!") else ""


def read(name: str) -> str:
    """A file's text."""
    return (ROOT / name).read_text(encoding="utf-8", errors="replace")


def report(what: str, problems: Iterable[str]) -> int:
    """Print the problems and one closing line; the exit status."""
    listed = list(problems)
    print(*listed, f"{what}: {len(listed)} problems", sep="\n")
    return 1 if listed else 0
