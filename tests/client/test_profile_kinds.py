"""Files of a profile that are there and are no files: refused, by both clients alike.

`policy` alone need not be there; a link that leads nowhere is not the same as none.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import warded
from warded import v1

from tests.client.c_caller import Answer, calling
from tests.client.fake_gate import FakeGate

Start = Callable[..., FakeGate]
ProfileOf = Callable[[FakeGate], Path]

FILES = ["server", "ca.pem", "cert.pem", "key.pem", "token", "policy"]
NO_CAPABILITIES = ("setpriv", "--bounding-set", "-all")
CONNECT = """
import sys, warded
try:
    warded.connect(sys.argv[1])
except warded.ProfileError as error:
    print(error.details())
"""


def said_of_unreadable(profile: Path, name: str) -> tuple[str, Answer]:
    """What both clients say of a profile with a file that they may not read."""
    (profile / name).touch()
    (profile / name).chmod(0)
    done = subprocess.run(
        [*NO_CAPABILITIES, sys.executable, "-c", CONNECT, profile],
        capture_output=True,
        text=True,
        check=True,
    )
    with calling(profile, under=NO_CAPABILITIES) as caller:
        return done.stdout.strip(), caller.check()


def dangle(path: Path) -> None:
    """A link to nothing."""
    path.symlink_to(path.parent / "nothing")


def loop(path: Path) -> None:
    """A link to itself."""
    path.symlink_to(path)


def pipe(path: Path) -> None:
    """A FIFO that nobody writes into."""
    os.mkfifo(path, 0o600)


def folder(path: Path) -> None:
    """A folder."""
    path.mkdir(mode=0o700)


def device(path: Path) -> None:
    """A device that can be read, without end."""
    path.symlink_to("/dev/zero")


KINDS = [dangle, loop, pipe, folder, device]


@pytest.fixture
def profile(start: Start, profile_of: ProfileOf) -> Path:
    """A good profile, without a policy."""
    return profile_of(start())


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("put", KINDS)
def test_claim_04_what_is_no_file_of_a_profile_is_refused(
    profile: Path, put: Callable[[Path], None], name: str
) -> None:
    (profile / name).unlink(missing_ok=True)
    put(profile / name)
    with pytest.raises(warded.ProfileError) as caught:
        warded.connect(profile)
    assert caught.value.details().startswith(f"{profile / name}: ")
    assert "; " in caught.value.details()  # and what to do


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("put", KINDS)
def test_claim_04_what_is_no_file_of_a_profile_is_refused_by_c(
    profile: Path, put: Callable[[Path], None], name: str
) -> None:
    (profile / name).unlink(missing_ok=True)
    put(profile / name)
    with calling(profile) as caller:
        got = caller.check()
    assert got.phase == "profile"
    assert str(profile / name) in got.message


@pytest.mark.parametrize("name", FILES)
def test_claim_04_a_file_that_may_not_be_read_is_refused(
    profile: Path, name: str
) -> None:
    python, got = said_of_unreadable(profile, name)
    assert f"{profile / name}" in python
    assert "Permission denied" in python
    assert got.phase == "profile"
    assert str(profile / name) in got.message


@pytest.mark.parametrize("put", [dangle, loop])
def test_a_policy_that_becomes_a_link_to_nothing_is_noticed(
    start: Start, profile_of: ProfileOf, put: Callable[[Path], None]
) -> None:
    gate = start()
    profile = profile_of(gate)
    with warded.connect(profile) as channel, calling(profile) as caller:
        check = v1.HealthStub(channel).Check
        check(v1.HealthCheckRequest())
        assert caller.check().reason == "ok"
        put(profile / "policy")
        end = time.monotonic() + 10
        while caller.check().reason == "ok":  # files are looked at each second
            assert time.monotonic() < end
        with pytest.raises(warded.ProfileError, match="policy: "):
            while time.monotonic() < end:
                check(v1.HealthCheckRequest())


def test_a_policy_that_is_not_there_is_the_usual_one(profile: Path) -> None:
    with calling(profile) as caller:
        assert caller.check().reason == "ok"
    with warded.connect(profile) as channel:
        v1.HealthStub(channel).Check(v1.HealthCheckRequest())


def test_a_link_to_a_file_is_that_file(profile: Path, tmp_path: Path) -> None:
    for name in FILES[:-1]:
        (profile / name).rename(tmp_path / name)
        (profile / name).symlink_to(tmp_path / name)
    with calling(profile) as caller:
        assert caller.check().reason == "ok"
    with warded.connect(profile) as channel:
        v1.HealthStub(channel).Check(v1.HealthCheckRequest())
