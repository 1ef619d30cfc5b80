"""What the lints share: the files of the tree, and how a check ends."""

from __future__ import annotations

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


def scripts(*programs: str) -> list[str]:
    """Files, whatever their suffix, that one of these runs by their first line."""
    return [name for name in files() if interpreter(first_line(name)) in programs]


def first_line(name: str) -> str:
    """As far as it matters."""
    with (ROOT / name).open("rb") as file:
        return file.readline(200).decode(errors="replace").strip()


def interpreter(first: str) -> str:
    """The program that a first line names, also by way of env; or nothing."""
    words = first[2:].split() if first.startswith("#!") else []
    if words and words[0].endswith("/env"):
        words = [w for w in words[1:] if not w.startswith("-") and "=" not in w]
    return words[0].rpartition("/")[2] if words else ""


def read(name: str) -> str:
    """A file's text."""
    return (ROOT / name).read_text(encoding="utf-8", errors="replace")


def report(what: str, problems: Iterable[str]) -> int:
    """Print the problems and one closing line; the exit status."""
    listed = list(problems)
    print(*listed, f"{what}: {len(listed)} problems", sep="\n")
    return 1 if listed else 0
