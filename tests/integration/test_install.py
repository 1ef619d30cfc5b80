"""`cmake --install` of the build under test: all that runs, and it runs from there."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import NewGate, NewHome
from tests.support import gate as support
from tests.support.facts import facts, failed
from tests.support.gate import BUILD, run

PROGRAMS = [
    "bin/tokctl",
    "bin/warded",
    "libexec/warded/warded-execd",
    "libexec/warded/warded-slot",
]


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where it is installed."""
    folder = tmp_path_factory.mktemp("installed")
    for part in (folder, *folder.parents[:2]):
        part.chmod(0o755)  # for the gate's account
    run("cmake", "--install", BUILD, "--prefix", folder / "usr")
    return folder / "usr"


@pytest.fixture
def installed(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """What tests run is what was installed."""
    monkeypatch.setattr(support, "BUILD", prefix)
    yield prefix


def test_the_programs_are_installed(prefix: Path) -> None:
    for folder in ("bin", "libexec/warded"):
        found = {f"{folder}/{path.name}" for path in (prefix / folder).iterdir()}
        assert found == {name for name in PROGRAMS if name.startswith(folder)}
    assert all((prefix / name).stat().st_mode & 0o111 for name in PROGRAMS)


def test_the_unit_names_what_is_installed(prefix: Path) -> None:
    unit = (prefix / "lib/systemd/system/warded.service").read_text()
    start = re.search(r"^ExecStart=(\S+) serve$", unit, re.M)
    document = re.search(r"^Documentation=file:(\S+)$", unit, re.M)
    assert start is not None
    assert document is not None
    assert Path(start.group(1)) == prefix / "bin/warded"
    assert Path(document.group(1)).is_file()
    assert "/usr/bin" not in unit.replace(str(prefix), "")
    assert "man:" not in unit


def test_the_python_package_is_installed(prefix: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import warded.v1 as v; print(v.ObservationStub, v)"],
        env={"PYTHONPATH": str(prefix / "lib/python3/dist-packages")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(prefix) in done.stdout


def test_claim_05_the_c_library_is_found_and_linked_by_others(
    prefix: Path, tmp_path: Path
) -> None:
    """The example as a user would build it: pkg-config, cc, nothing of our tree."""
    example = prefix / "share/doc/warded/examples/whoami.c"
    (pc,) = prefix.rglob("warded.pc")
    env = f"PKG_CONFIG_PATH={pc.parent}"
    asan = "-fsanitize=address,undefined"  # as the library under test
    words = run("env", env, "pkg-config", "--cflags", "--libs", "warded").stdout.split()
    program = tmp_path / "whoami"
    run("cc", "-Wall", "-Werror", asan, str(example), *words, "-o", program)
    library = f"LD_LIBRARY_PATH={pc.parents[1]}"
    done = run("env", library, program, str(tmp_path / "none"), check=False)
    assert done.returncode == 1
    assert "no such profile" in done.stderr
    assert "warded profile new" in done.stderr
    exported = run("nm", "-D", "--defined-only", pc.parents[1] / "libwarded.so").stdout
    names = {line.split()[-1] for line in exported.splitlines()}
    assert {"wd_channel_open", "wd_warded_v1_token_call_revoke"} <= names
    assert not {n for n in names if n.startswith(("wd_tls", "wd_conn", "wd_store"))}


def test_a_gate_starts_from_where_it_is_installed(
    installed: Path, new_home: NewHome, new_gate: NewGate
) -> None:
    home = new_home()
    done = home.warded("check")
    assert failed(done) == []
    assert facts(done)["sandbox: seccomp"].startswith("ok ")
    gate = new_gate(home)
    target = Path(f"/proc/{gate.pid}/exe").readlink()
    assert target == installed / "bin/warded"
    assert gate.home.warded("health").returncode == 0
