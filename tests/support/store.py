"""A store of its own for tests of tokctl, and the programs that work on it."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

from tests.support.gate import Done, program, run

TRAINER = "uri:spiffe://warded.local/ns/default/owner/ann/client/trainer"
TOKEN = re.compile(r"\bwd[ta]1_[0-9A-Za-z]{59}\b")
WORDS = ("--scope", "observe:python_code", "--bind", TRAINER)

OK, FAILED, USAGE, NOT_FOUND, DENIED = range(5)
CONFLICT, UNREACHABLE, INTEGRITY, PARTIAL = range(5, 9)


class Store:
    """A store's folder and the programs that work on it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder

    def rows(self, *words: str) -> None:
        """Make it, fill it: see tests/support/store_rows.c."""
        run(program("store_rows"), self.path, *words)

    def tokctl(self, *words: str, exit_status: int = OK) -> Done:
        """Run tokctl on it; the exit status must be as expected."""
        done = run(program("tokctl"), "--db", self.path, *words, check=False)
        assert done.returncode == exit_status, f"{words}: {done.stderr}"
        return done

    def json(self, *words: str) -> Any:
        """What tokctl says in JSON."""
        return json.loads(self.tokctl(*words, "-o", "json").stdout)

    def sql(self, statement: str) -> None:
        """Change the database as an intruder would."""
        with sqlite3.connect(self.path / "store.db") as db:
            db.execute(statement)
        db.close()

    def issue(self, name: str = "trainer", *words: str) -> tuple[str, str]:
        """(id, secret) of a new token."""
        done = self.tokctl("issue", name, *WORDS, *words)
        found = re.fullmatch(r"id: ([0-9A-Za-z]{10})\n", done.stderr)
        assert found, done.stderr
        return found[1], done.stdout.strip()


def new_store(folder: Path) -> Store:
    """An empty one."""
    made = Store(folder)
    made.rows("fill", "0")
    return made


def killed_after(command: list[str], heads: Path, lines: int) -> int:
    """Run it, keep the heads that it acknowledges, kill it after so many."""
    acknowledged = 0
    with (
        heads.open("a") as keep,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer,
    ):
        assert writer.stdout is not None
        try:
            for line in writer.stdout:
                keep.write(line if line.endswith("\n") else "")
                acknowledged += 1
                if acknowledged == lines:
                    writer.kill()
        except BaseException:
            writer.kill()  # the test's time is over: nobody waits for it
            raise
    return acknowledged
