"""The client on every protobuf that it says it runs on; on_protobuf.py is what runs.

The lowest and the newest release, each in a virtual environment of build/ of its own,
and Debian's; the compiled and the pure Python implementation; the interpreter of the
platform and, where the platform is a root on another system, that system's too.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.client.fake_gate import FakeGate, answer_by_method
from tests.runner import build
from tests.runner.model import BUILD, ROOT

PROGRAM = ROOT / "tests/client/on_protobuf.py"
Done = subprocess.CompletedProcess[str]

LOWEST = (3, 10)  # CPython, as in clients/python/pyproject.toml

# What pip is asked for. To take a newer newest one, remove build/protobuf-newest.
RELEASES = {"lowest": "protobuf==4.21.12\n", "newest": "protobuf\n"}


class Case(NamedTuple):
    """An interpreter, a protobuf, and which of its implementations."""

    interpreter: str
    release: str
    implementation: str

    def __str__(self) -> str:
        return "-".join(self)


def ancestors() -> Iterator[int]:
    """The processes above this one, but for the first of all, which is nobody's."""
    pid = os.getppid()
    while pid > 1:
        yield pid
        stat = Path(f"/proc/{pid}/stat").read_text()
        pid = int(stat.rpartition(")")[2].split()[1])


@functools.cache
def host_python() -> tuple[str, ...]:
    """The command that starts the host's Python; nothing where we are the host.

    deploy/platform.sh gives the tests a mount namespace of their own; whoever called
    it still sees the host's files.
    """
    here = Path("/proc/self/ns/mnt").readlink()
    for pid in ancestors():
        there = Path(f"/proc/{pid}/ns/mnt")
        if there.readlink() == here:
            continue
        command = ("nsenter", f"--mount={there}", f"--wd={ROOT}", "python3")
        old = f"import sys; sys.exit(sys.version_info < {LOWEST})"
        done = subprocess.run([*command, "-c", old], capture_output=True, check=False)
        return command if done.returncode == 0 else ()
    return ()


CASES = [Case("platform", "debian", "cpp"), Case("platform", "debian", "python")]
CASES += [
    Case(interpreter, release, implementation)
    for interpreter in ("platform", "host")[: 2 if host_python() else 1]
    for release in RELEASES
    for implementation in ("upb", "python")
]


@functools.cache
def packages(release: str) -> Path:
    """The folder that a release was installed to."""
    folder = BUILD / f"protobuf-{release}"
    _, problem = build.made_venv(folder, RELEASES[release], lambda line: None)
    assert problem is None, problem.output
    (found,) = folder.glob("lib/python3*/site-packages")
    return found


def run(case: Case, *arguments: str | Path, state: Path) -> Done:
    """Run on_protobuf.py."""
    python = host_python() if case.interpreter == "host" else (sys.executable,)
    if case.release == "debian":
        python = ("/usr/bin/python3",)
    paths = [path for path in os.environ["PYTHONPATH"].split(":") if path]
    if case.release != "debian":
        paths.insert(0, str(packages(case.release)))
    env = {
        **os.environ,
        "PYTHONPATH": ":".join(paths),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONWARNINGS": "ignore",
        "XDG_STATE_HOME": str(state),
        "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": case.implementation,
    }
    return subprocess.run(
        [*python, PROGRAM, *arguments],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def answer(gate: FakeGate, request: Any) -> Any:
    """Three methods are answered with what is broken, each in its own way."""
    if request.method == "/warded.v1.Token/WhoAmI":  # a message that is no UTF-8
        return gate.reply(request).SerializeToString() + b"\x22\x02\xff\xfe"
    if request.method == "/warded.v1.Observation/ListTools":  # no protobuf
        return gate.reply(request, payload=b"\xff")
    if request.method == "/warded.v1.Token/Issue":  # a token that is no UTF-8
        return gate.reply(request, payload=b"\x0a\x02\xff\xfe")
    return answer_by_method(gate, request)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_claim_07_the_client_works_on_this_protobuf(
    case: Case,
    tmp_path: Path,
    start: Callable[..., FakeGate],
    profile_of: Callable[[FakeGate], Path],
) -> None:
    done = run(case, profile_of(start(answer)), state=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    first, *held = done.stdout.splitlines()
    _, version, implementation = first.split()
    assert implementation == case.implementation
    assert version.startswith("4.21.") == (case.release != "newest"), version
    assert held == re.findall(r"^def (check_\w+)", PROGRAM.read_text(), re.M)


def test_claim_07_newest_is_newer_than_lowest() -> None:
    versions = []
    for release in RELEASES:
        (info,) = packages(release).glob("protobuf-*.dist-info")
        versions.append([int(n) for n in info.stem.split("-")[1].split(".")])
    assert versions[0] < [5] < versions[1]
