"""What a benchmark stands on: our build, a gate, the peers' programs."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.bench.rounds import PeerError, Turn
from tests.support.gate import Gate, Home, remove

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests/bench"
RELEASE = ROOT / "build/release"
MADE = ROOT / "build/bench"  # what we compile for peers
VENV = ROOT / "build/bench-venv"
PYTHON = VENV / "bin/python"
TICK_S = 1 / os.sysconf("SC_CLK_TCK")

_TARGETS = (
    *("warded", "warded-execd", "warded-slot", "tokctl", "python_stubs"),
    *("bench_rpc_client", "bench_tokens", "bench_trail", "bench_audit", "bench_ask"),
)
_TURN_S = 120.0  # a turn that takes longer is stuck


def build_ours() -> None:
    """Release, and no more of it than benchmarks run."""
    quietly(
        "cmake -G Ninja -S . -B build/release -DCMAKE_BUILD_TYPE=Release "
        "-DCMAKE_C_COMPILER=gcc -DBUILD_TESTING=ON".split()
    )
    quietly(["ninja", "-C", "build/release", *_TARGETS])


def quietly(command: Sequence[str | Path]) -> None:
    """Run a step; its output only when it fails. Raises PeerError."""
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        words = " ".join(map(str, command[:4]))
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
        raise PeerError(f"{words} ...: status {done.returncode}\n{tail}")


def need_packages(*names: str) -> str:
    """Install Debian packages; nothing, or why they can't be had."""
    have = subprocess.run(["dpkg", "-s", *names], capture_output=True, check=False)
    if have.returncode == 0:
        return ""
    print(f"installing {' '.join(names)}", flush=True)
    env = ["env", "DEBIAN_FRONTEND=noninteractive"]
    install = "apt-get install -y -qq --no-install-recommends".split()
    try:
        quietly(["apt-get", "update", "-qq"])
        quietly([*env, *install, *names])
    except PeerError as error:
        return str(error).splitlines()[-1]
    return ""


def need_grpcio() -> str:
    """The newest grpcio in a virtual environment; nothing, or why it can't be had."""
    if not PYTHON.exists():
        print("making build/bench-venv", flush=True)
    try:
        quietly(["python3", "-m", "venv", "--system-site-packages", VENV])
        pip: list[str | Path] = [PYTHON, "-m", "pip", "install", "-q", "--upgrade"]
        quietly([*pip, "grpcio", "grpcio-tools"])
    except PeerError as error:
        reason = str(error).splitlines()[-1]
        have = subprocess.run([PYTHON, "-c", "import grpc"], check=False)
        if have.returncode != 0:
            return reason
        print(f"grpcio may not be the newest, for it can't be renewed: {reason}")
    return ""


@contextlib.contextmanager
def a_folder() -> Iterator[Path]:
    """Which a gate's account can reach; removed in the end."""
    folder = Path(tempfile.mkdtemp(prefix="warded-bench-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        remove(folder)


@contextlib.contextmanager
def a_gate(*scopes: str) -> Iterator[tuple[Gate, Path]]:
    """A gate of the Release build, as installed, and a profile that may call it."""
    with a_folder() as folder:
        home = Home.make(folder / "home")
        profile = home.profile("bench", *scopes)
        with Gate(home) as gate:
            yield gate, profile


def take_turn(command: Sequence[str | Path], server: int = 0) -> Turn:
    """Run a contender's program, which prints one JSON object.

    It has `rate`, `p50_us`, `p99_us`, `client_us` and `calls`: how many there were with
    those that do not count. `server`: the process whose time, with that of its
    children, is shared out among them.
    """
    before = cpu_s(server)
    told = ask(command, _TURN_S)
    server_us = (cpu_s(server) - before) / told["calls"] * 1e6 if server else 0.0
    return Turn(
        told["rate"], told["p50_us"], told["p99_us"], told["client_us"], server_us
    )


def ask(command: Sequence[str | Path], limit_s: float) -> Any:
    """The JSON that a program prints. Raises PeerError."""
    # what it imports: the root of the tree, and the client of the build
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{RELEASE / 'python'}"}
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=env,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise PeerError(f"no result within {limit_s:g} s") from None
    if done.returncode != 0:
        last = (done.stderr.strip() or "no words").splitlines()[-1]
        raise PeerError(f"status {done.returncode}: {last}")
    return json.loads(done.stdout)


def cpu_s(pid: int) -> float:
    """Processor time of a process, its live children and those that they waited for."""
    if pid == 0:
        return 0.0
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    own = sum(map(int, fields[11:15])) * TICK_S
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for child in children:
        with contextlib.suppress(OSError):  # ended meanwhile: then it is waited for
            own += cpu_s(int(child))
    return own


def has_program(name: str) -> bool:
    """Whether the platform has it."""
    return shutil.which(name) is not None
