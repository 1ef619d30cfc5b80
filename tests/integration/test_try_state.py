"""deploy/try.sh with a stubbed gate: what it stops, gives back, removes and refuses."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.elsewhere import FOLDER, elsewhere
from tests.support.gate import ROOT, Done

LIMIT_S = 60.0


@pytest.fixture
def checkout() -> Iterator[Path]:
    """A checkout of try.sh alone, whose platform is here, after a build by root."""
    here = Path(tempfile.mkdtemp(prefix="warded-test-", dir="/tmp"))
    (here / "build/release").mkdir(parents=True)
    (here / "build/release/warded").touch()
    (here / "deploy").mkdir()
    shutil.copy(ROOT / "deploy/try.sh", here / "deploy")
    (here / "deploy/platform.sh").write_text('#!/bin/sh\nexec "$@"\n')
    (here / "deploy/platform.sh").chmod(0o755)
    yield here
    shutil.rmtree(here)


def test_what_sudo_made_below_build_belongs_to_its_caller(checkout: Path) -> None:
    env = {**os.environ, "SUDO_UID": "4711", "SUDO_GID": "4712"}
    env.pop("WARDED_TRY", None)
    command = [str(checkout / "deploy/try.sh"), "--stop"]
    subprocess.run(command, env=env, check=True, capture_output=True, timeout=LIMIT_S)
    made = [checkout / "build", *checkout.glob("build/**/*")]
    assert {(p.stat().st_uid, p.stat().st_gid) for p in made} == {(4711, 4712)}
    assert checkout.stat().st_uid == os.getuid()


def test_stop_removes_no_other_folder_than_its_own(checkout: Path) -> None:
    bait = Path(tempfile.mkdtemp(prefix="warded-test-", dir=FOLDER))
    kept = checkout / "build/try.kept"
    kept.write_text(f"1 /var/tmp/warded-try-1/../{bait.name}\n")
    command = [str(checkout / "deploy/try.sh"), "--stop"]
    subprocess.run(command, check=True, capture_output=True, timeout=LIMIT_S)
    assert bait.exists()
    bait.rmdir()


# The build, a gate, and a rollout that tells its test that it runs.
STUBS = {
    "bin/cmake": "#!/bin/sh\n",
    "bin/ninja": "#!/bin/sh\n",
    "build/release/bin/warded": """\
#!/usr/bin/python3
import pathlib, signal, sys
home = pathlib.Path(sys.argv[2])
if sys.argv[3] == "init":
    (home / "state").mkdir(parents=True)
    (home / "run").mkdir()
    (home / "warded.yaml").write_text("#sandbox:\\n")
elif sys.argv[3] == "serve":
    (home / "run/address").write_text("address")
    signal.pause()
""",
    "clients/python/examples/rollout.py": """\
import signal
signal.signal(signal.SIGINT, signal.SIG_DFL)
print("rollout runs", flush=True)
signal.pause()
""",
}


@pytest.fixture
def stubbed(checkout: Path) -> Path:
    """`checkout`, where try.sh comes as far as its rollout, which stays."""
    for name, text in STUBS.items():
        path = checkout / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    return checkout


def try_at(checkout: Path, place: Path, word: str) -> Done:
    """try.sh of `checkout`, its state at `place`."""
    return subprocess.run(
        [checkout / "deploy/try.sh", word],
        env={**os.environ, "WARDED_TRY": str(place)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )


def begin(
    checkout: Path, *words: str, place: str = "state"
) -> tuple[subprocess.Popen[str], int]:
    """try.sh at its rollout, in a process group of its own, and its gate."""
    path = f"{checkout / 'bin'}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "WARDED_TRY": f"{checkout}/{place}"}
    run = subprocess.Popen(
        [checkout / "deploy/try.sh", *words],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert run.stdout is not None
    said = []
    for line in run.stdout:
        said.append(line)
        if line == "rollout runs\n":
            break
    found = re.search(r"^listening on \S+, process (\d+)$", "".join(said), re.M)
    assert found is not None, said
    return run, int(found.group(1))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_claim_01_try_stopped_by_a_signal_leaves_neither_gate_nor_key(
    stubbed: Path, number: signal.Signals
) -> None:
    run, gate = begin(stubbed, "--keep")
    assert elsewhere(stubbed / "state").exists()
    os.killpg(run.pid, number)
    out, _ = run.communicate(timeout=LIMIT_S)
    assert run.returncode == 130, out
    assert not Path(f"/proc/{gate}").exists()
    assert not (stubbed / "state.kept").exists()
    assert not elsewhere(stubbed / "state").exists()


@pytest.mark.parametrize("word", ["--keep", "--stop"])
def test_a_second_try_of_a_state_is_refused_and_leaves_the_first_alone(
    stubbed: Path, word: str
) -> None:
    run, gate = begin(stubbed)
    second = try_at(stubbed, stubbed / "state", word)
    assert second.returncode == 75, second.stdout
    assert f"in the hands of another try.sh, process {run.pid}" in second.stderr
    assert f"kill {run.pid}" in second.stderr
    assert Path(f"/proc/{gate}").exists()
    assert (stubbed / "state.kept").exists()
    assert elsewhere(stubbed / "state").exists()
    os.killpg(run.pid, signal.SIGTERM)
    run.communicate(timeout=LIMIT_S)
    assert try_at(stubbed, stubbed / "state", "--stop").returncode == 0


@pytest.mark.parametrize("place", ["state", "state/", "state//"])
def test_claim_01_try_killed_leaves_a_gate_that_stop_finds(
    stubbed: Path, place: str
) -> None:
    run, gate = begin(stubbed, place=place)
    assert elsewhere(stubbed / "state").exists()
    os.killpg(run.pid, signal.SIGKILL)
    run.wait(LIMIT_S)
    assert Path(f"/proc/{gate}").exists()
    stopped = try_at(stubbed, stubbed / "state", "--stop")
    assert (stopped.returncode, stopped.stderr) == (0, "")
    assert "Stopped the gate" in stopped.stdout
    assert not Path(f"/proc/{gate}").exists()
    assert not elsewhere(stubbed / "state").exists()


FOREIGN = [
    ["notes"],
    ["profile/other"],
    ["profile/trainer/token", "notes"],
    ["warded.yaml"],
    ["state/tokens", "other.yaml"],
]


@pytest.mark.parametrize("word", ["--keep", "--stop"])
@pytest.mark.parametrize("names", FOREIGN, ids=" ".join)
def test_claim_01_try_refuses_a_folder_that_is_no_state_of_its_own(
    checkout: Path, names: list[str], word: str
) -> None:
    folder = checkout / "mine"
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("mine")
    done = try_at(checkout, folder, word)
    assert done.returncode == 64, done.stdout
    assert f"{folder} is not empty" in done.stderr
    assert [(folder / name).read_text() for name in names] == ["mine"] * len(names)


def test_claim_01_try_refuses_a_file_for_its_state(checkout: Path) -> None:
    file = checkout / "mine"
    file.write_text("mine")
    assert try_at(checkout, file, "--keep").returncode == 64
    assert file.read_text() == "mine"


@pytest.mark.parametrize(
    "names", [[], ["warded.yaml", "state/tokens"], ["profile/trainer/token"]]
)
def test_claim_01_try_takes_an_empty_folder_and_states_of_its_own(
    checkout: Path, names: list[str]
) -> None:
    folder = checkout / "mine"
    folder.mkdir()
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    assert try_at(checkout, folder, "--stop").returncode == 0
