"""Which host gets what of deploy/platform.sh; in the long form the hosts are real."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import LIMIT_S, Platform
from .fresh_host import FreshHost

LONG = bool(os.environ.get("WARDED_LONG"))
FRESH_S = 3600

NATIVE, ROOT = 0, 1  # runs of debootstrap
SYSTEMS = {  # its /etc/os-release
    "debian 11": ('ID=debian\nVERSION_ID="11"\n', ROOT),
    "debian 12": ('VERSION="12 (bookworm)"\nVERSION_ID="12"\nID=debian\n', ROOT),
    "debian 13": ('VERSION_ID="13"\nVERSION="13 (trixie)"\nID=debian\n', NATIVE),
    "debian 13 unquoted": ("ID=debian\nVERSION_ID=13\n", NATIVE),
    "debian 14": ('ID="debian"\nVERSION_ID="14"\n', NATIVE),
    "debian without a number": ("ID=debian\nVERSION_CODENAME=forky\n", ROOT),
    "ubuntu of a higher number": (
        'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\n',
        ROOT,
    ),
    "a derivative of debian 13": (
        'ID=raspbian\nID_LIKE=debian\nVERSION_ID="13"\n',
        ROOT,
    ),
    "nothing that it says": ("", ROOT),
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_claim_08_a_host_is_native_or_gets_a_root_by_its_os_release(
    platform: Platform, system: str
) -> None:
    text, made = SYSTEMS[system]
    file = platform.folder / "os-release"
    file.write_text(text)
    inside = 'mount --bind "$1" /etc/os-release && exec "$2" sh -c "echo in"'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", inside, "sh", file, platform.script],
        env=platform.env(WARDED_PLATFORM_RELEASE=""),
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    assert (done.returncode, done.stdout) == (0, "in\n"), done.stderr
    assert platform.runs() == made


@pytest.fixture
def host() -> Iterator[FreshHost]:
    """A place for one, which may hold device files."""
    folder = Path(tempfile.mkdtemp(prefix="warded-host-", dir="/var/tmp"))
    fresh = FreshHost(folder)
    yield fresh
    fresh.remove()


def good(host: FreshHost, line: str) -> str:
    """What a line prints that ends well."""
    done = host.run(line)
    print(f"$ {line}\n{done.stdout[-4000:]}")
    assert done.returncode == 0, done.stdout[-8000:]
    return done.stdout


def newcomer(host: FreshHost) -> None:
    """The two commands of README.md, and a part of the tests."""
    said = good(host, "deploy/try.sh")
    assert "64 of 64 as expected" in said
    assert "status 0" in said
    said = good(host, "tests/run.sh lint.docs unit.frame. client/test_wire")
    assert " 0 failed, 0 skipped" in said


def packages(host: FreshHost) -> set[str]:
    """What is installed there."""
    return set(good(host, "dpkg-query -W -f '${Package}\\n'").split())


if LONG:  # an hour of two cores, and a mirror

    @pytest.mark.limit(FRESH_S)
    def test_claim_08_a_fresh_debian_13_is_native(host: FreshHost) -> None:
        host.make("trixie")
        assert not {"gcc", "libnng1", "git", "ca-certificates"} & packages(host)
        said = good(host, "deploy/platform.sh cat /etc/debian_version")
        assert "installing" in said
        assert said.splitlines()[-1].startswith("13")
        newcomer(host)
        assert {"gcc", "libnng1", "git", "ca-certificates"} <= packages(host)
        assert not (host.root / "var/cache/warded").exists()
        assert "installing" not in good(host, "deploy/platform.sh true")

    @pytest.mark.limit(FRESH_S)
    def test_claim_08_a_fresh_debian_12_gets_a_root(host: FreshHost) -> None:
        host.make("bookworm")
        before = packages(host)
        said = good(host, "deploy/platform.sh cat /etc/debian_version")
        assert "made the root" in said
        assert said.splitlines()[-1].startswith("13")
        newcomer(host)
        assert "gcc" not in packages(host) - before
        assert "making" not in good(host, "deploy/platform.sh true")
