"""Output that is kept in files: what changes from run to run is written the same.

    WARDED_GOLDEN=write tests/run.sh test_tokctl_golden

writes the files anew; look at their difference before it is committed.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.support.gate import Done

ID = re.compile(
    r"""(?x) \b wd[tawj]1_ ([0-9A-Za-z]{10}) [0-9A-Za-z]{49} \b
    | ^!\ id:\ (\w{10})$
    | ^(?:id|family|successor|parent)\ +(\w{10})$
    | "(?:id|family|successor|parent)":\ ?"(\w{10})"
    | (?:^|,)(?=[a-z]*[A-Z0-9])(\w{10})(?=,)""",
    re.M,
)
SAME = (
    (r"\b(wd[tawj]1_)[0-9A-Za-z]{59}\b", r"\1" + "S" * 59),
    (r"-----BEGIN.*-----(\\n)?", "CERTIFICATE"),
    (r"\b[0-9a-f]{16} [0-9A-Za-z+/]{80,}=*", "KEY SIGNATURE"),
    (r"[0-9A-Za-z+/]{43}=", "b" * 43 + "="),
    (r"\b[0-9a-f]{64}\b", "h" * 64),
    (r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "u" * 36),
    (r"20\d\d(-\d\d){2}T\d\d(:\d\d){2}\.\d{3}Z", "YYYY-MM-DDThh:mm:ss.mmmZ"),
    (r"\b1[789]\d{11}\b", "m" * 13),
    (r"/gate/[\w.-]+", "/gate/HOST"),
    (r"\b127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
    (r'("\w+_(?:us|ns)": ?|"uptime_ms": ?|,0\.1\.0,)\d+', r"\1N"),
    (r"\nPLACE +", "\nPLACE "),  # as wide as where the tests lie
    (r"(\n(?:took, us|on disk, us|up) +)\d+", r"\1N"),
)


class Normal:
    """What is the same in every run: ids and folders by the order they were met in."""

    def __init__(self, *, numbers: bool = True) -> None:
        """`numbers`: those that mean something in this output are kept."""
        self._names: dict[str, str] = {}
        self._numbers = numbers

    def know_id(self, token_id: str) -> None:
        """A token's: as long as it was, so that columns stay where they are."""
        self._names.setdefault(token_id, f"id{len(self._names):08d}")

    def know_path(self, path: Path, name: str) -> None:
        """A folder of this run."""
        self._names[str(path)] = name

    def text(self, text: str) -> str:
        """Of one run."""
        for found in ID.findall(text):
            self.know_id("".join(found))
        for seen, name in self._names.items():
            text = text.replace(seen, name)
        for pattern, same in SAME:
            text = re.sub(pattern, same, text)
        if not self._numbers:
            # and what fills their column up
            text = re.sub(r"(?<![\w.])\d+(?![\w.])( ?) *", r"N\1", text)
        return text.replace("\r\n", "\\r\n")


def told(words: Sequence[str], done: Done) -> str:
    """A run as it is kept."""
    said = "".join(f"! {line}\n" for line in done.stderr.splitlines())
    return f"$ {' '.join(words)}\n{done.stdout}{said}[{done.returncode}]\n\n"


def compare(path: Path, parts: Iterable[str]) -> None:
    """Fail with the difference; or write the file, when that was asked for."""
    now = "".join(parts)
    if os.environ.get("WARDED_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(now)
        return
    kept = path.read_text().splitlines(keepends=True)
    lines = difflib.unified_diff(kept, now.splitlines(keepends=True), path.name, "now")
    assert not (difference := "".join(lines)), difference
