"""Builds: one folder under build/ for each compiler and set of sanitizers."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.runner.model import BUILD, ROOT
from tests.runner.process import Done, EndingError, Watcher, run

BUILD_LIMIT_S = 1500.0

# Whoever waits for nothing gives way to those whose answers are waited for.
NICE = ("nice", "-n", "10")

# A step of ninja that went well; what is left of its output are the failures.
STEP = re.compile(r"^\[\d+/\d+\] .*\n", re.M)


_making_venv = threading.Lock()


@dataclass(frozen=True, slots=True)
class Flavour:
    """A build folder and what makes it different."""

    folder: str
    compiler: str
    options: tuple[str, ...]

    @property
    def path(self) -> Path:
        """Where it is built."""
        return BUILD / self.folder


ASAN = Flavour("asan", "gcc", ("-DCMAKE_BUILD_TYPE=Debug", "-DWARDED_SANITIZE=address"))
TESTS = "-DBUILD_TESTING=ON"  # deploy/try.sh switches it off in build/release
RELEASE = Flavour("release", "gcc", ("-DCMAKE_BUILD_TYPE=Release", TESTS))
CLANG = Flavour("clang", "clang", ("-DCMAKE_BUILD_TYPE=Debug",))


@contextlib.contextmanager
def held(flavour: Flavour) -> Iterator[None]:
    """Its folder is ours: no other lane builds there, or reads what it built."""
    with (BUILD / f"{flavour.folder}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def configure(flavour: Flavour, watch: Watcher) -> Done:
    """Run cmake; cheap when nothing changed."""
    command = [*NICE, "cmake", "-S", str(ROOT), "-B", str(flavour.path), "-G", "Ninja"]
    compiler = f"-DCMAKE_C_COMPILER={flavour.compiler}"
    return run([*command, compiler, *flavour.options], watch=watch)


def build(flavour: Flavour, watch: Watcher) -> Done:
    """Configure and build everything, as far as it goes."""
    done = configure(flavour, watch)
    if done.code != 0:
        return done
    done = make(flavour, watch, "-k", "0")
    return replace(done, output=STEP.sub("", done.output))


def make(flavour: Flavour, watch: Watcher, *words: str) -> Done:
    """Build these targets, or with these options, what has been configured."""
    command = [*NICE, "ninja", "-C", str(flavour.path), *words]
    return run(command, timeout_s=BUILD_LIMIT_S, watch=watch)


def venv(watch: Watcher) -> tuple[Path, Done | None]:
    """The Python of the tests: Debian's, and tests/requirements.txt."""
    wanted = (ROOT / "tests/requirements.txt").read_text()
    with _making_venv:
        return made_venv(BUILD / "venv", wanted, watch, "--system-site-packages")


def begin_venv(watch: Watcher) -> None:
    """Make it beside a build, for it mostly waits for what it loads."""

    def work() -> None:
        with contextlib.suppress(EndingError):
            venv(watch)

    threading.Thread(target=work, daemon=True).start()


def made_venv(
    folder: Path, requirements: str, watch: Watcher, *options: str
) -> tuple[Path, Done | None]:
    """The Python of a virtual environment, and how making it failed.

    It is made again only when its requirements, a text for pip, change.
    """
    python, stamp, wanted = (
        folder / "bin/python",
        folder / "made-for",
        folder / "wanted",
    )
    words = "\n".join((sys.version, *options, requirements))
    key = hashlib.sha256(words.encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == key:
        return python, None
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    wanted.write_text(requirements)
    steps: list[list[str]] = [
        [sys.executable, "-m", "venv", *options, str(folder)],
        [str(python), "-m", "pip", "install", "-q", "-r", str(wanted)],
    ]
    for step in steps:
        done = run(step, watch=watch)
        if done.code != 0:
            return python, done
    stamp.write_text(key)
    return python, None
