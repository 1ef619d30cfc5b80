"""What an account may not do is told with who may, and nobody is said to run unseen."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pwd
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import NewHome
from tests.support.facts import facts, failed
from tests.support.gate import READY_S, Done, Home, program

CURE = "run it as root, or as the account that owns it"


@pytest.fixture
def home(new_home: NewHome) -> Home:
    """Root's, which any account can look at; and the programs beside it."""
    made = new_home()
    made.take_uids()
    for name in ("warded", "tokctl", "warded-execd"):
        shutil.copy(program(name), made.path.parent)  # the build may be out of reach
    return made


def as_nobody(home: Home, name: str, *words: str) -> Done:
    """A program, run by an ordinary account."""
    return subprocess.run(
        [home.path.parent / name, "--home", home.path, *words],
        user="nobody",
        group=pwd.getpwnam("nobody").pw_gid,
        extra_groups=[],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=READY_S,
    )


@contextlib.contextmanager
def locked(path: Path, text: str) -> Iterator[None]:
    """A lock that another process has."""
    with path.open("w") as file:
        path.chmod(0o600)
        file.write(text)
        file.flush()
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.mark.parametrize(
    "words",
    ["warded serve", "tokctl list", "warded profile new x --scope observe:*"],
)
def test_who_may_not_is_told_who_may(home: Home, words: str) -> None:
    done = as_nobody(home, *words.split())
    assert done.returncode not in (0, 78) or "serve" in words
    assert "Permission denied" in done.stderr or "not permitted" in done.stderr
    assert CURE in done.stderr


def test_an_init_where_the_account_may_not_write_says_who_may(home: Home) -> None:
    done = as_nobody(Home(home.path), "warded", "--home", "/root/x/y", "init")
    assert done.returncode == 1
    assert CURE in done.stderr


def test_check_by_an_ordinary_account_does_not_fail_the_port_of_a_running_serve(
    home: Home,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        text = re.sub(r"127\.0\.0\.1:\d+", f"127.0.0.1:{port}", home.config.read_text())
        home.config.write_text(text)
        with locked(home.path / "run/lock", f"{os.getpid()}\n"):
            done = as_nobody(home, "warded", "check")
    assert failed(done) == ["user"], done.stdout + done.stderr
    assert facts(done)["listen.url"].startswith("- not tried: it is in use, maybe by")
    assert facts(done)["running"].startswith("- not tried: uid ")
    assert CURE in facts(done)["running"]


@pytest.mark.parametrize("holder", ["", "4711\n"])
def test_a_store_that_another_command_has_is_no_running_gate(
    home: Home, holder: str
) -> None:
    words = ("profile", "new", "x", "--scope", "observe:*")
    with locked(home.store / "lock", holder):
        done = home.warded(*words, check=False)
    assert done.returncode == 5
    assert "a running gate" not in done.stderr
    assert "stop 'warded serve'" not in done.stderr
    assert "try again when that has ended" in done.stderr
    with (
        locked(home.store / "lock", holder),
        locked(home.path / "run/lock", f"{os.getpid()}\n"),
    ):
        assert "stop 'warded serve'" in home.warded(*words, check=False).stderr


@pytest.mark.parametrize("words", ["check", "--help", "profile new x --scope env:*"])
def test_output_that_nobody_gets_is_a_failure(home: Home, words: str) -> None:
    command = f"{program('warded')} --home {home.path} {words} > /dev/full"
    done = subprocess.run(
        ["sh", "-c", command], stderr=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == 1
    assert "standard output" in done.stderr
