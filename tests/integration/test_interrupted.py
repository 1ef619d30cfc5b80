"""Commands that make credentials leave all or nothing, whatever comes in between."""

from __future__ import annotations

import itertools
import json
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import NewHome
from tests.support.gate import READY_S, Home, program, remove, run

NUMBERS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]
SCOPE = ("--scope", "observe:python_code")


def interrupt(home: Home, words: list[str], moment: str, number: signal.Signals) -> int:
    """Run a command and send it a signal once something like `moment` is there."""
    command: list[str | Path] = [program("warded"), "--home", home.path, *words]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet) as process:
        while process.poll() is None and not any(home.path.glob(moment)):
            pass
        process.send_signal(number)
        return process.wait(READY_S)


def active(home: Home) -> list[str]:
    """The names of the tokens that are good."""
    rows = json.loads(home.tokctl("list", "-o", "json").stdout)
    return [row["name"] for row in rows if row["state"] == "active"]


def profiles(home: Home) -> list[str]:
    """What lies among the profiles, whole or not."""
    return sorted(p.name for p in (home.path / "profile").iterdir())


@pytest.mark.parametrize(
    ("moment", "number"),
    zip(
        [
            "state",
            "state/ca/*",
            "state/gate/cert.pem",
            "state/gate/digest.key",
            "state/store/lock",
            "profile/admin.*",
            "profile/admin.*/key.pem",
            "profile/admin",
        ],
        itertools.cycle(NUMBERS),
        strict=False,
    ),
)
def test_an_init_that_a_signal_ends_leaves_all_or_nothing(
    new_home: NewHome, moment: str, number: signal.Signals
) -> None:
    home = Home(new_home().path.with_name("new"))
    assert interrupt(home, ["init"], moment, number) in (0, -number)
    again = home.warded("init", check=False)
    assert again.returncode == (5 if home.config.exists() else 0), again.stderr
    assert (profiles(home), active(home)) == (["admin"], ["admin"])
    home.warded("profile", "new", "trainer", *SCOPE)


PIECES = ("state/ca", "state/gate", "state/store", "profile/admin")


@pytest.mark.parametrize("count", range(1, len(PIECES) + 1))
def test_what_a_killed_init_left_is_told_of_piece_by_piece(
    new_home: NewHome, count: int
) -> None:
    """The configuration is the last that it makes."""
    home = new_home()
    home.config.unlink()
    for gone in PIECES[count:]:
        remove(home.path / gone)
    again = home.warded("init", check=False)
    assert again.returncode == 5
    assert f"there without a configuration {home.config};" in again.stderr
    for piece in PIECES[:count]:
        assert str(home.path / piece) in again.stderr
        remove(home.path / piece)
    home.warded("init")
    assert (profiles(home), active(home)) == (["admin"], ["admin"])


def test_a_profile_that_a_signal_ends_is_whole_or_not_there(new_home: NewHome) -> None:
    home = new_home()
    names = (f"t{i}" for i in itertools.count())
    for moment in ("", "/ca.pem", "/key.pem", "/policy", "/expires", "/token"):
        for number in NUMBERS[:2]:
            name = next(names)
            words = ["profile", "new", name, *SCOPE]
            place = f"profile/{name}.*{moment}"
            assert interrupt(home, words, place, number) in (0, -number)
    assert sorted(active(home)) == profiles(home)
    for made in (home.path / "profile").iterdir():
        assert {"ca.pem", "cert.pem", "key.pem", "policy", "token"} <= {
            p.name for p in made.iterdir()
        }


@pytest.fixture
def small(new_home: NewHome) -> Iterator[tuple[Home, Path]]:
    """A home, and a folder on a disk that takes one file more each time it is asked."""
    home = new_home()
    place = home.path / "small"
    place.mkdir()
    run("mount", "-t", "tmpfs", "-o", "nr_inodes=2", "small", place)
    yield home, place
    run("umount", "-l", place)


def test_a_profile_that_fails_takes_its_token_back(small: tuple[Home, Path]) -> None:
    home, place = small
    for files in itertools.count(2):
        run("mount", "-o", f"remount,nr_inodes={files}", place)
        words = ["profile", "new", "t", *SCOPE, "--out", f"{place}/t"]
        done = home.warded(*words, check=False)
        if done.returncode == 0:
            break
        assert "No space left on device" in done.stderr
        assert list(place.iterdir()) == []
        assert active(home) == ["admin"]
    rows = json.loads(home.tokctl("list", "--state", "revoked", "-o", "json").stdout)
    revoked = len(rows)
    assert revoked >= 2, "neither 'expires' nor 'token' failed"
    assert sorted(active(home)) == ["admin", "t"]
    trail = home.tokctl("audit", "query", "--limit", "0").stdout
    assert len(re.findall(r"token\.revoke", trail)) >= revoked
