"""deploy/platform.sh: a root is made once, whole or not at all, and entered quickly."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from .conftest import LIMIT_S, Platform

NO_PLATFORM = 69
NOBODY = ("/usr/bin/setpriv", "--reuid=65534", "--clear-groups")


def test_claim_02_a_command_runs_in_a_fresh_root(platform: Platform) -> None:
    done = platform.run("cat", "/etc/added")
    assert (done.returncode, platform.runs()) == (0, 1), done.stderr
    assert done.stdout.split()[-1] == "warded"
    assert len(platform.roots()) == 1


@pytest.mark.parametrize("whom", ["script", "group"])
@pytest.mark.parametrize("point", ["start", "middle", "end"])
def test_claim_02_killed_at_a_point_the_next_run_starts_clean(
    platform: Platform, point: str, whom: str
) -> None:
    process = platform.start("true", STUB_STOP=point)
    assert platform.stopped_at() == point
    if whom == "group":
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.kill()
    assert process.wait(LIMIT_S) != 0
    assert not [name for name in platform.roots() if not name.endswith(".partial")]

    done = platform.run("sh", "-c", "for f in /leftover /stop; do echo $f*; done")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["/leftover*", "/stop*"]
    assert platform.runs() == 2
    assert [name for name in platform.roots() if name.endswith(".partial")] == []


def test_claim_02_a_second_run_costs_under_three_seconds(platform: Platform) -> None:
    assert platform.run("true").returncode == 0
    start = time.monotonic()
    assert platform.run("true").returncode == 0
    assert time.monotonic() - start < 3
    assert platform.runs() == 1


def test_claim_02_runs_at_the_same_time_make_one_root(platform: Platform) -> None:
    runs = [platform.start("cat", "/etc/added") for _ in range(4)]
    ends = [(r.communicate(timeout=LIMIT_S), r.returncode) for r in runs]
    assert [code for _, code in ends] == [0, 0, 0, 0], ends
    assert platform.runs() == 1
    assert all(out.endswith("warded\n") for (out, _), _ in ends)


def test_claim_02_a_failing_debootstrap_says_why(platform: Platform) -> None:
    done = platform.run("true", STUB_FAIL="1")
    assert done.returncode == NO_PLATFORM
    assert "E: Failed getting release file http://x" in done.stderr
    assert str(platform.cache / "debootstrap.log") in done.stderr
    assert platform.run("true").returncode == 0


def test_claim_02_a_changed_package_list_makes_another_root(platform: Platform) -> None:
    assert platform.run("true").returncode == 0
    with (platform.script.parent / "packages.txt").open("a") as packages:
        packages.write("zlib1g\n")
    assert platform.run("true").returncode == 0
    assert (platform.runs(), len(platform.roots())) == (2, 2)


def test_user_namespaces_work_inside(platform: Platform) -> None:
    done = platform.run("unshare", "--user", "--map-root-user", "sh", "-c", "echo in")
    assert (done.returncode, done.stdout) == (0, "in\n"), done.stderr


def test_arguments_status_and_folder_are_the_commands_own(platform: Platform) -> None:
    script = 'printf "%s\\n" "$PWD" "$@"; exit 7'
    done = platform.run("sh", "-c", script, "sh", "a b", "", "$HOME'\"")
    folder = str(platform.script.parents[1])
    assert done.stdout.splitlines() == [folder, "a b", "", "$HOME'\""]
    assert done.returncode == 7


def test_nothing_of_the_mounts_is_left_outside(platform: Platform) -> None:
    before = Path("/proc/self/mounts").read_text()
    assert platform.run("true").returncode == 0
    assert Path("/proc/self/mounts").read_text() == before


@pytest.mark.parametrize("release", ["13", "13.1", "14"])
def test_debian_13_and_later_is_the_platform_itself(
    platform: Platform, release: str
) -> None:
    done = platform.run("sh", "-c", "echo native", WARDED_PLATFORM_RELEASE=release)
    assert (done.returncode, done.stdout) == (0, "native\n"), done.stderr
    assert platform.runs() == 0


@pytest.mark.parametrize("release", ["0", "9", "11.2", "12", "12.9"])
def test_any_other_system_gets_a_root(platform: Platform, release: str) -> None:
    done = platform.run("true", WARDED_PLATFORM_RELEASE=release)
    assert (done.returncode, platform.runs()) == (0, 1), done.stderr


@pytest.mark.parametrize("option", ["nodev", "noexec"])
def test_a_cache_where_no_root_can_be_is_refused(
    platform: Platform, option: str
) -> None:
    platform.cache.mkdir()
    mount = f'mount -t tmpfs -o {option} tmpfs "$1" && exec "$2" true'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", mount, "sh", platform.cache, platform.script],
        env=platform.env(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == NO_PLATFORM
    assert option in done.stderr
    assert "WARDED_PLATFORM_CACHE" in done.stderr
    assert platform.runs() == 0


def test_without_root_and_sudo_it_says_what_it_needs(platform: Platform) -> None:
    with TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copytree(platform.script.parent, folder / "deploy")
        for tool in ("dirname", "id"):
            (folder / tool).symlink_to(f"/usr/bin/{tool}")
        done = subprocess.run(
            [*NOBODY, folder / "deploy/platform.sh", "true"],
            env={"PATH": name},
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == NO_PLATFORM
    assert "root" in done.stderr
    assert "sudo" in done.stderr


STUB_SUDO = """#!/bin/sh
printf '%s\\n' "$@" >&2
exit 3
"""


def test_sudo_is_told_to_keep_every_setting_that_the_manual_names(
    platform: Platform,
) -> None:
    with TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copytree(platform.script.parent, folder / "deploy")
        for tool in ("dirname", "id", "cat"):
            (folder / tool).symlink_to(f"/usr/bin/{tool}")
        (folder / "sudo").write_text(STUB_SUDO)
        (folder / "sudo").chmod(0o755)
        done = subprocess.run(
            [*NOBODY, folder / "deploy/platform.sh", "a", "b c"],
            env={"PATH": name},
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
        told = done.stderr.splitlines()[-4:]
        assert told[1:] == [str(folder / "deploy/platform.sh"), "a", "b c"]
    manual = platform.run("--help").stdout
    named = set(re.findall(r"^ *(WARDED_[A-Z_]+) ", manual, re.M))
    assert len(named) == 4
    assert set(told[0].removeprefix("--preserve-env=").split(",")) == named | {"CI"}


def test_a_debootstrap_that_is_not_there_is_named(platform: Platform) -> None:
    done = platform.run("true", WARDED_DEBOOTSTRAP="/nonexistent/debootstrap")
    assert done.returncode == NO_PLATFORM
    assert "/nonexistent/debootstrap" in done.stderr


def test_no_command_prints_the_manual(platform: Platform) -> None:
    done = platform.run()
    assert done.returncode == 64
    assert "run a command on the platform" in done.stderr


@pytest.mark.parametrize(
    "words", [["--make"], ["--make", "a", "b"], ["--enter"], ["--enter", "root"]]
)
def test_claim_02_its_own_words_without_theirs_are_a_usage_error(
    platform: Platform, words: list[str]
) -> None:
    done = platform.run(*words)
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr.startswith(f"platform: {words[0]} takes")
    assert "parameter not set" not in done.stderr
    assert "Exit: " in done.stderr


def test_claim_02_programs_of_sbin_are_found_without_it_in_path(
    platform: Platform,
) -> None:
    found = "command -v useradd chroot debootstrap; true"
    path = "/usr/local/bin:/usr/bin:/bin"
    done = platform.run("sh", "-c", found, PATH=path, WARDED_PLATFORM_RELEASE="13")
    assert done.returncode == 0, done.stderr
    assert "/usr/sbin/useradd" in done.stdout.split()
    assert platform.run("true", PATH=path).returncode == 0
