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

PATH = ("usr/local/bin", "usr/bin", "bin")
LOWEST = (3, 10)  # CPython, as in clients/python/pyproject.toml

# What pip is asked for. To take a newer newest one, remove build/protobuf-newest.
SEEN = (7, 36)
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
def host() -> int:
    """A process that sees the host's files; 0 where we are on the host ourselves.

    deploy/platform.sh gives the tests a mount namespace of their own; whoever called
    it still sees the host's.
    """
    here = Path("/proc/self/ns/mnt").readlink()
    for pid in ancestors():
        if Path(f"/proc/{pid}/ns/mnt").readlink() != here:
            return pid
    return 0


def host_python() -> tuple[str, ...]:
    """The command that starts the host's Python, in our folder as the host sees it."""
    return ("nsenter", f"--mount=/proc/{host()}/ns/mnt", f"--wdns={ROOT}", "python3")


def has_python(pid: int) -> bool:
    """Whether there is one, good or bad, where the process looks for programs."""
    return any(os.path.lexists(f"/proc/{pid}/root/{folder}/python3") for folder in PATH)


INTERPRETERS = ["platform", *(["host"] if host() and has_python(host()) else [])]
CASES = [Case("platform", "debian", "cpp"), Case("platform", "debian", "python")]
CASES += [
    Case(interpreter, release, implementation)
    for interpreter in INTERPRETERS
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
    ours = os.environ["PYTHONPATH"].split(":")
    paths = [str(Path(path).absolute()) for path in ours if path]
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
    if case.release == "debian":
        assert version.startswith("4.21."), version
    else:
        assert version == installed(case.release)
    assert held == re.findall(r"^def (check_\w+)", PROGRAM.read_text(), re.M)


def installed(release: str) -> str:
    """Which protobuf is in a folder."""
    (info,) = packages(release).glob("protobuf-*.dist-info")
    return info.stem.split("-")[1]


def test_claim_07_the_releases_are_the_lowest_and_the_newest_known() -> None:
    """SEEN is the newest that was there when this was written last: an index that only
    has older ones is behind."""
    lowest, newest = installed("lowest"), installed("newest")
    print(f"protobuf {lowest} and {newest}")
    assert lowest == "4.21.12"
    assert tuple(int(n) for n in newest.split(".")[:2]) >= SEEN, newest


def test_claim_07_the_hosts_python_takes_part_unless_there_is_none() -> None:
    took_part = [case for case in CASES if case.interpreter == "host"]
    if not host():  # the platform's Python is the host's
        assert took_part == []
    elif not has_python(host()):
        print(f"the host has no python3 in {PATH}")
        assert took_part == []
        assert subprocess.run([*host_python(), "-V"], check=False).returncode == 127
    else:
        assert len(took_part) == 2 * len(RELEASES)
        asked = f"import sys; sys.exit(sys.version_info < {LOWEST})"
        done = subprocess.run(
            [*host_python(), "-c", asked], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"the host's Python: {done.stdout}{done.stderr}"
