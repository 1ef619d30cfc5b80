"""`warded check` tries the folder that pruned rows are exported to."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import NewHome
from tests.support.facts import facts
from tests.support.gate import Home, run


@pytest.fixture
def home(new_home: NewHome) -> Home:
    """A home that was initialised; its slots' ids are no other gate's."""
    made = new_home()
    made.take_uids()
    return made


def told(home: Home) -> str:
    """What check says of it."""
    return facts(home.warded("check", check=False))["audit.export_dir"]


def nothing(_: Path) -> None:
    """It is to be made, when it is needed."""


def no_folder(folder: Path) -> None:
    """Something else has the name."""
    folder.write_text("")


def of_root(folder: Path) -> None:
    """The gate's account may look at it."""
    folder.mkdir(mode=0o755)


def of_everyone(folder: Path) -> None:
    """Whoever likes may remove an export."""
    folder.mkdir()
    folder.chmod(0o777)


def of_the_gate(folder: Path) -> None:
    """As docs/audit.md says."""
    run("install", "-d", "-o", "warded", "-m", "0700", folder)


EXPORTS: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "missing": (nothing, "warn", "can't be made: Permission denied"),
    "no folder": (no_folder, "warn", "can't be written to: Not a directory"),
    "root's": (of_root, "warn", "can't be written to: Permission denied"),
    "everyone's": (of_everyone, "warn", "can be written to by others (mode 0777)"),
    "the gate's": (of_the_gate, "ok", "/archive/exports"),
}


def test_claim_07_check_tries_the_folder_of_exports(home: Home) -> None:
    archive = home.path / "archive"
    archive.mkdir(mode=0o755)
    exports = archive / "exports"
    config = home.config
    config.write_text(f"{config.read_text()}\naudit:\n  export_dir: {exports}\n")
    for name, (make, verdict, words) in EXPORTS.items():
        make(exports)
        said = told(home)
        assert said.startswith(f"{verdict} "), name
        assert words in said, name
        assert verdict == "ok" or "set audit.export_dir to" in said, name
        if exports.is_dir():
            assert list(exports.iterdir()) == [], name
        exports.rmdir() if exports.is_dir() else exports.unlink(missing_ok=True)
    shutil.chown(archive, "warded")
    assert told(home).startswith("ok ")
