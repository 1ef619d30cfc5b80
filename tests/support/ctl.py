"""tokctl as the client of a profile, or on a terminal of its own."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import tempfile
import termios
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.gate import READY_S, Done, Home, program, remove, run
from tests.support.stub_gate import StubGate

CLEAN = {k: v for k, v in os.environ.items() if not k.startswith("WARDED_")}

OPTION = re.compile(r"^ +(?:-\w, )?(?:-\?, )?--([a-z0-9-]+)", re.M)
EVERYWHERE = ("help", "usage", "version")  # argp's own


def told(*words: str) -> str:
    """What tokctl says of itself."""
    return run(program("tokctl"), *words).stdout


@cache
def verbs() -> tuple[str, ...]:
    """Of its table, such as `list` and `audit query`."""
    table = told("--help").split("Commands:\n")[1].split("\n\n")[0]
    return tuple(line[2:19].strip() for line in table.splitlines())


@cache
def options(verb: str) -> frozenset[str]:
    """Its long options, as --help has them; one may be called as one of argp's."""
    found = Counter(OPTION.findall(told(*verb.split(), "--help")))
    return frozenset((found - Counter(EVERYWHERE)).keys())


class Ctl:
    """`tokctl --profile FOLDER`, in an environment without its own variables."""

    def __init__(self, profile: Path, **env: str) -> None:
        self.profile = profile
        self._env = {**CLEAN, "XDG_STATE_HOME": str(profile / "state"), **env}

    def __call__(self, *words: str, status: int = 0, text: str = "") -> Done:
        """Run it; the exit status must be as expected."""
        done = subprocess.run(
            [program("tokctl"), *words, "--profile", str(self.profile)],
            input=text,
            env=self._env,
            capture_output=True,
            text=True,
            timeout=READY_S,
            check=False,
        )
        assert done.returncode == status, f"{words}: {done.returncode} {done.stderr}"
        return done

    def json(self, *words: str, text: str = "") -> Any:
        """What it says in JSON."""
        return json.loads(self(*words, "-o", "json", text=text).stdout)


@contextmanager
def open_gate() -> Iterator[StubGate]:
    """A gate over a stub executor, with the profiles `boss` (who may do all that tokctl
    does) and `reader` (who may read the trail alone)."""
    folder = Path(tempfile.mkdtemp(prefix="warded-test-", dir="/tmp"))
    folder.chmod(0o755)  # for the gate's account
    home = Home.make(folder / "home")
    home.profile("boss", "token:**", "observe:**", "audit:*", "health:*")
    home.profile("reader", "audit:read")
    with StubGate(home) as running:
        yield running
    remove(folder)


PROGRESS = re.compile(r"\r[^\r\n]*\x1b\[K")


def on_terminal(
    *words: str | Path,
    columns: int = 80,
    answer: str = "",
    progress: bool = False,
    **env: str,
) -> tuple[int, str]:
    """Run a program on a terminal; its exit status, and all that was shown.

    `progress`: also the line of progress, drawn and wiped out, of a program that takes
    its time.
    """
    pid, master = pty.fork()
    if pid == 0:
        os.execve(words[0], [str(w) for w in words], {**CLEAN, **env})
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 25, columns, 0, 0))
    if answer:
        os.write(master, answer.encode())
    shown = b""
    while select.select([master], [], [], READY_S)[0]:
        try:
            piece = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        shown += piece
    os.close(master)
    _, status = os.waitpid(pid, 0)
    text = shown.decode(errors="replace")
    return os.waitstatus_to_exitcode(status), (
        text if progress else PROGRESS.sub("", text)
    )
