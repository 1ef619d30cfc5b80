"""A checkout of its own for each test: deploy/platform.sh and a short package list."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
DEPLOY = HERE.parents[1] / "deploy"
LIMIT_S = 60


@dataclass
class Platform:
    """deploy/platform.sh on a host that is said to be Debian 12, with a stub."""

    folder: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def script(self) -> Path:
        """The script of the checkout."""
        return self.folder / "checkout/deploy/platform.sh"

    @property
    def cache(self) -> Path:
        """Where roots live."""
        return self.folder / "cache"

    @property
    def fifo(self) -> Path:
        """Where the stub says that it has stopped."""
        return self.folder / "fifo"

    def env(self, **more: str) -> dict[str, str]:
        """The environment of a run."""
        return {
            **os.environ,
            "WARDED_PLATFORM_CACHE": str(self.cache),
            "WARDED_PLATFORM_RELEASE": "12",
            "WARDED_DEBOOTSTRAP": str(HERE / "stub_debootstrap.sh"),
            "STUB_RUNS": str(self.folder / "runs"),
            "STUB_FIFO": str(self.fifo),
            **more,
        }

    def start(self, *command: str, **env: str) -> subprocess.Popen[str]:
        """Start a run in a process group of its own."""
        process = subprocess.Popen(
            [self.script, *command],
            cwd=self.script.parents[1],
            env=self.env(**env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def run(self, *command: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a command on the platform to its end."""
        process = self.start(*command, **env)
        out, err = process.communicate(timeout=LIMIT_S)
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def stopped_at(self) -> str:
        """Wait until the stub stops; where it says that it is."""
        fd = os.open(self.fifo, os.O_RDWR)  # so that the open itself can't block
        try:
            readable, _, _ = select.select([fd], [], [], LIMIT_S)
            return os.read(fd, 100).decode().strip() if readable else "nowhere"
        finally:
            os.close(fd)

    def runs(self) -> int:
        """How often the stub was run."""
        path = self.folder / "runs"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def roots(self) -> list[str]:
        """Names of the roots, whole and partial."""
        return sorted(p.name for p in self.cache.glob("platform-*"))


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    """See Platform; every run that a test started has ended after it."""
    deploy = tmp_path / "checkout/deploy"
    deploy.mkdir(parents=True)
    shutil.copy(DEPLOY / "platform.sh", deploy)
    (deploy / "packages.txt").write_text("# a list\n[run]\nlibc6\n")
    os.mkfifo(tmp_path / "fifo")
    made = Platform(tmp_path)
    yield made
    for process in made.started:
        process.kill()
        process.wait()
