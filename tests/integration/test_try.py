"""deploy/try.sh for real: the rollout, the trail, what is left; and its words."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runner import build
from tests.support.elsewhere import elsewhere
from tests.support.gate import ROOT, Done

# The first run of a checkout builds; see the script's own promise.
LIMIT_S = 360.0


@pytest.fixture(scope="module", autouse=True)
def release() -> Iterator[None]:
    """build/release is ours: lint builds there too."""
    with build.held(build.RELEASE):
        yield


def sh(script: str, *words: str, place: Path | None = None) -> Done:
    """A script of the checkout, its state at `place`."""
    env = {**os.environ, **({"WARDED_TRY": str(place)} if place is not None else {})}
    for name in ("SUDO_UID", "SUDO_GID"):
        env.pop(name, None)
    return subprocess.run(
        [ROOT / script, *words],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )


@pytest.fixture
def private() -> Iterator[Path]:
    """A place for the state that the gate's account can't reach."""
    folder = Path(tempfile.mkdtemp(prefix="warded-test-", dir="/tmp"))
    yield folder / "try"
    sh("deploy/try.sh", "--stop", place=folder / "try")
    shutil.rmtree(folder)


@pytest.fixture
def place(private: Path) -> Path:
    """A place for the state that the gate's account can reach."""
    private.parent.chmod(0o755)
    return private


def kept_pid(place: Path) -> tuple[int, Path]:
    """The gate that --keep left, and its home."""
    pid, home = place.with_name("try.kept").read_text().split()
    return int(pid), Path(home)


def test_claim_01_try_shows_the_rollout_and_the_verified_trail_and_cleans_up(
    place: Path,
) -> None:
    done = sh("deploy/try.sh", place=place)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [f"[{n}/6" in done.stdout for n in range(1, 7)] == [True] * 6
    assert "64 of 64 as expected" in done.stderr
    assert re.search(r"^verifies +yes$", done.stdout, re.M)
    assert re.search(r"^witnessed +[1-9]", done.stdout, re.M)
    assert re.search(r"^Done in \d+ s, status 0$", done.stdout, re.M)
    found = re.search(r"^listening on \S+, process (\d+)$", done.stdout, re.M)
    assert found is not None
    assert not Path(f"/proc/{found.group(1)}").exists()
    assert not elsewhere(place).exists()


def test_claim_01_try_keep_leaves_a_gate_that_answers_and_stop_ends_it(
    private: Path,
) -> None:
    done = sh("deploy/try.sh", "--keep", place=private)
    assert done.returncode == 0, done.stdout + done.stderr
    pid, home = kept_pid(private)
    assert home == elsewhere(private)
    assert (home / "state/ca/ca.key").exists()
    told = re.search(r"^    (deploy/platform\.sh \S+tokctl .*)$", done.stdout, re.M)
    assert told is not None
    assert "gate.start" in sh(*told.group(1).split()).stdout
    call = re.search(
        r"^    (deploy/platform\.sh env .*?\.py)$", done.stdout, re.M | re.S
    )
    assert call is not None
    again = sh(*call.group(1).replace("\\\n", " ").split())
    assert again.stdout.strip() == "OK 42", again.stderr
    assert (private / "profile/trainer/token").exists(), "where the README says"

    stopped = sh("deploy/try.sh", "--stop", place=private)
    assert (stopped.returncode, stopped.stderr) == (0, "")
    assert "Stopped the gate" in stopped.stdout
    assert not Path(f"/proc/{pid}").exists()
    assert not home.exists()
    assert not (private / "profile").exists()
    assert "No gate" in sh("deploy/try.sh", "--stop", place=private).stdout


def test_claim_01_try_says_what_failed_and_leaves_no_key(tmp_path: Path) -> None:
    log = tmp_path / "try.log"
    log.mkdir()  # nothing can be written there
    done = sh("deploy/try.sh", place=tmp_path / "try")
    assert done.returncode != 0
    assert "try.log" in done.stderr
    assert not elsewhere(tmp_path / "try").exists()


@pytest.mark.parametrize("word", ["-h", "--help", "help"])
@pytest.mark.parametrize(
    "script", ["deploy/try.sh", "deploy/platform.sh", "tests/run.sh"]
)
def test_the_scripts_teach_when_asked(script: str, word: str) -> None:
    done = sh(script, word)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(Path(script).name + " ")
    assert "Exit: " in done.stdout


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("deploy/try.sh", ["--keep", "extra"]),
        ("deploy/try.sh", ["--stop", "--keep"]),
        ("deploy/try.sh", ["keep"]),
        ("deploy/try.sh", ["--kepp"]),
        ("deploy/try.sh", ["--inside"]),
        ("deploy/try.sh", ["--inside", "--keep"]),
        ("deploy/try.sh", [""]),
        ("deploy/try.sh", ["", "--stop"]),
        ("deploy/platform.sh", []),
    ],
)
def test_the_scripts_refuse_other_words(script: str, words: list[str]) -> None:
    done = sh(script, *words)
    assert (done.returncode, done.stdout) == (64, "")
    assert "Exit: " in done.stderr
