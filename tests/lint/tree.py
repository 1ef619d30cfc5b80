"""What the lints share: the files of the tree, and how a check ends."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# The checkout may belong to the user whose sudo runs us.
GIT = ("git", "-c", "safe.directory=*")


# In C: a string or a character, kept; or a comment.
COMMENT = re.compile(
    r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|/\*.*?(?:\*/|\Z)|//[^\n]*""", re.S
)

SHELLS = ("sh", "bash", "dash", "ksh")

# What a model writes, which need not even be Python.
ACTIONS = "clients/python/examples/actions/"


def files(*globs: str) -> list[str]:
    """Those that the globs match. A check of none would pass for ever: it fails."""
    found = maybe(*globs)
    if not found:
        raise SystemExit(f"no file is called {' or '.join(globs)}")
    return found


def maybe(*globs: str) -> list[str]:
    """Paths from the root, tracked or about to be, that one of the globs matches."""
    command = [*GIT, "ls-files", "-z", "-co", "--exclude-standard", "--", *globs]
    out = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    names = sorted(set(out.stdout.split("\0")) - {""})
    return [name for name in names if (ROOT / name).is_file()]


def scripts(*programs: str) -> list[str]:
    """Files, whatever their suffix, that one of these runs by their first line."""
    return [name for name in maybe() if interpreter(first_line(name)) in programs]


def python() -> list[str]:
    """Every file of Python that is ours."""
    names = {*files("*.py"), *maybe("*.pyi"), *scripts("python", "python3")}
    return sorted(name for name in names if not name.startswith(ACTIONS))


def shell() -> list[str]:
    """Every shell script, whatever its name."""
    return sorted({*files("*.sh"), *maybe("*.bash"), *scripts(*SHELLS)})


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


def without_comments(text: str) -> str:
    """C with blanks in place of comments, every line where it was."""
    return COMMENT.sub(lambda m: m[1] or re.sub(r"[^\n]", " ", m[0]), text)


def line_of(text: str, place: int) -> int:
    """The number of the line in which the place is."""
    return text.count("\n", 0, place) + 1


def report(what: str, problems: Iterable[str]) -> int:
    """Print the problems and one closing line; the exit status."""
    listed = list(problems)
    print(*listed, f"{what}: {len(listed)} problems", sep="\n")
    return 1 if listed else 0
