"""A real gate for tests: `warded` under a folder of its own, and what to ask of it.

Example:
    home = Home.make(folder)
    trainer = home.profile("trainer", "observe:python_code")
    with Gate(home) as gate:
        channel = warded.connect(trainer)
        assert "call.end" in gate.home.tokctl("audit", "query").stdout
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import select
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parents[2]

# Where the programs under test are; the runner sets it.
BUILD = Path(os.environ.get("WARDED_BUILD", ROOT / "build/asan")).resolve()

# Seconds that a start, with its canary, may take under sanitizers; and a stop.
READY_S = 60.0
STOP_S = 30.0
LOOK_S = 0.02

UID_BASE = re.compile(r"^ +uid_base: *(\d+)", re.MULTILINE)

# What a sanitizer says before it ends a program.
FINDING = re.compile(
    r"(ERROR|SUMMARY): (Address|Leak|Thread|UndefinedBehavior)Sanitizer|runtime error:"
)

# What it says of leaks that tests/support/known_leaks.c names: how many; and how many
# NNG may lose in the life of a gate.
KNOWN_LEAKS = re.compile(r"^ +(\d+) +\d+ message_for_nng$", re.MULTILINE)
MOST_KNOWN_LEAKS = 40

# Executors of one machine may not share ids: each home that serves gets its own.
UID_BASES = itertools.count(1_900_000_000 + os.getpid() % 3500 * 64_000, 64)

# Gates that run now: tests/conftest.py shows their logs beside a failure.
RUNNING: list[Gate] = []

Done = subprocess.CompletedProcess[str]


class GateError(AssertionError):
    """The gate did not do what it was told; the message ends with its log."""


def at_fault(log: str) -> bool:
    """Whether a sanitizer has found fault with a program that says so in `log`."""
    known = sum(map(int, KNOWN_LEAKS.findall(log)))
    return known > MOST_KNOWN_LEAKS or FINDING.search(log) is not None


def program(name: str) -> Path:
    """A program of the build under test."""
    return BUILD / "bin" / name


def run(*command: str | Path, check: bool = True, text: str | None = None) -> Done:
    """Run a program to its end, with `text` as its input."""
    done = subprocess.run(
        command,
        input=text if text is not None else "",
        capture_output=True,
        text=True,
        timeout=READY_S,
        check=False,
    )
    if check and done.returncode != 0:
        words = " ".join(map(str, command))
        raise GateError(
            f"{words}: status {done.returncode}\n{done.stdout}{done.stderr}"
        )
    return done


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of --home: settings, state, run, profiles."""

    path: Path

    @classmethod
    def make(cls, path: Path, *options: str) -> Home:
        """`warded init` in a new folder, with any free port of loopback."""
        home = cls(path)
        home.warded("init", "--listen", "tls+tcp://127.0.0.1:0", *options)
        return home

    @property
    def config(self) -> Path:
        """The settings; tests append to it or replace its text."""
        return self.path / "warded.yaml"

    @property
    def store(self) -> Path:
        """The folder of store.db."""
        return self.path / "state/store"

    @property
    def admin(self) -> Path:
        """The profile that init made."""
        return self.path / "profile/admin"

    def warded(self, *words: str, check: bool = True) -> Done:
        """Run `warded --home` of this home."""
        return run(program("warded"), "--home", self.path, *words, check=check)

    def tokctl(self, *words: str, check: bool = True) -> Done:
        """Run `tokctl --home` of this home."""
        return run(program("tokctl"), "--home", self.path, *words, check=check)

    def configure(self, text: str) -> None:
        """Settings besides those that `warded init` wrote."""
        self.config.write_text(f"{self.config.read_text()}\n{text}\n")

    def take_uids(self) -> range:
        """The ids of its slots, at most; settings that name none get some."""
        text = self.config.read_text()
        if (named := UID_BASE.search(text)) is None:
            setting = f"sandbox:\n  uid_base: {next(UID_BASES)}\n"
            text = text.replace("\nsandbox:\n", f"\n{setting}", 1)
            if setting not in text:
                text += f"\n{setting}"
            self.config.write_text(text)
            named = UID_BASE.search(text)
        assert named is not None
        return range(int(named[1]), int(named[1]) + 64)

    def dial(self, address: str) -> None:
        """Tell the profiles where: whole, for those who read them now."""
        for profile in (self.path / "profile").iterdir():
            fresh = profile / "server.new"
            fresh.write_text(f"{address}\n")
            fresh.rename(profile / "server")

    def profile(self, name: str, *scopes: str, ttl: str = "1h") -> Path:
        """`warded profile new`: the gate must not run; the folder."""
        asked = [word for scope in scopes for word in ("--scope", scope)]
        self.warded("profile", "new", name, "--ttl", ttl, *asked)
        return self.path / "profile" / name


class Gate:
    """`warded serve` over a home, from ready to stopped."""

    def __init__(self, home: Home, *, wrap: Sequence[str] = (), **env: str) -> None:
        """`wrap`: a program and its arguments that execs the rest of the line."""
        self.home = home
        self._wrap = wrap
        self.address = ""
        self._env = {**os.environ, **env}
        self._log = home.path / "serve.log"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Gate:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The supervisor's."""
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        """All that the supervisor and its children have said."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def start(self) -> None:
        """Start it and wait until it listens; then tell the profiles where."""
        (self.home.path / "run/address").unlink(missing_ok=True)  # of a killed one
        with contextlib.suppress(
            OSError, UnicodeDecodeError
        ):  # the gate says it better
            self.home.take_uids()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._wrap, program("warded"), "--home", self.home.path, "serve"],
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        RUNNING.append(self)
        try:
            self.address = self._wait_for_address()
        except BaseException:
            self.kill()
            raise
        self.home.dial(self.address)

    def stop(self) -> None:
        """End it as systemd would; a finding of a sanitizer is a failure."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            status = self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise self._failure(f"did not stop within {STOP_S} s") from None
        self._forget()
        if at_fault(self.log):
            raise self._failure("a sanitizer found fault with it")
        if status != 0:
            raise self._failure(f"ended with status {status}")

    def hang_up(self) -> None:
        """Let it reload."""
        os.kill(self.pid, signal.SIGHUP)

    def kill(self) -> None:
        """End it at once, children and all."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(STOP_S)
            self._forget()

    def bury(self) -> None:
        """The test killed the supervisor: wait for its end, and for nobody else's."""
        if self._process is not None:
            self._process.wait(STOP_S)
        self._process = None
        RUNNING.remove(self)

    def _forget(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)  # whoever stayed behind
        self._process = None
        if self in RUNNING:
            RUNNING.remove(self)

    def _wait_for_address(self) -> str:
        """The file is written whole, and after the listener is there."""
        path = self.home.path / "run/address"
        pidfd = os.pidfd_open(self.pid)
        try:
            for _ in range(int(READY_S / LOOK_S)):
                if path.exists() and (text := path.read_text().strip()):
                    return text
                ended, _, _ = select.select([pidfd], [], [], LOOK_S)
                if ended:
                    raise self._failure("ended before it was ready")
        finally:
            os.close(pidfd)
        raise self._failure(f"was not ready within {READY_S} s")

    def _failure(self, what: str) -> GateError:
        return GateError(f"warded serve {what}\n{self.log[-8000:]}")


def remove(folder: Path) -> None:
    """Remove a home, whoever owns what is in it."""
    shutil.rmtree(folder, ignore_errors=True)
