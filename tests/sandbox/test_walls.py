"""Each wall left out of warded-slot alone: the canary, or the set-up, misses it.

The programs are all of ours and one wall less (slot_without.c); the probes of layers
find nothing, as the kernel has them all. What can't be missed is said here as well.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.sandbox import layers
from tests.support.execd_client import BUILD, Execd, write_home


@dataclass(frozen=True, slots=True)
class Case:
    """A wall, who misses it ("canary", or the layer whose set-up fails), its words."""

    wall: str
    by: str
    words: str


CASES = [
    # without its own user namespace nothing else can be set up
    Case("user_ns", "user-namespace", "uid_map"),
    Case("pid_ns", "proc", "mount /proc"),
    Case("net_ns", "canary", "executor's own namespace net:"),
    Case("ipc_ns", "canary", "executor's own namespace ipc:"),
    Case("uts_ns", "uts-namespace", "sethostname"),
    Case("mnt_ns", "mounts", "mount"),
    Case("cgroup_ns", "canary", "executor's own namespace cgroup:"),
    Case("uids", "canary", "uid_map"),
    Case("rlimits", "canary", "limit NOFILE"),
    Case("core", "canary", "limit CORE"),
    Case("capabilities", "canary", "CapPrm"),
    # Landlock needs it, and so does the filter
    Case("no_new_privs", "landlock", "restrict_self"),
    Case("landlock", "canary", "no rule of Landlock names"),
    # its first attack that succeeds is to be traced, which stops it
    Case("seccomp", "canary", "not what was expected"),
    Case("descriptors", "canary", "descriptors"),
    Case("process_tree", "canary", "the child that it left was not found"),
    Case("read_only", "canary", "touch /dev/null"),
    Case("proc", "canary", "/proc/self"),
    Case("cgroup_memory", "canary", "killed for memory"),
    Case("cgroup_pids", "canary", "children at once"),
]

# Walls that others stand before, so that no attack tells whether they are there: the
# network and pid namespaces hold what the scopes would; shares of the processors show
# by time alone. Both are not mandatory, and probed at start.
UNSEEN = ("scopes", "cgroup_cpu")

# Walls that only payloads are tried without (test_without.py): parts of one above, or
# what the canary does not look at.
OF_PAYLOADS = ("empty_environment", "file_limits")


def programs(folder: Path, wall: str, *, spared: bool = False) -> Path:
    """A folder with our executor and a warded-slot without that wall; `spared`: only
    for actions, not for the canary."""
    folder.mkdir()
    shutil.copy(BUILD / "bin" / "warded-execd", folder)
    shutil.copy(BUILD / "slot-without" / wall / "warded-slot", folder)
    if spared:
        (folder / "canary-is-spared").touch()
    return folder


@pytest.mark.parametrize("case", CASES, ids=[c.wall for c in CASES])
def test_claim_10_a_wall_left_out_is_missed(case: Case, tmp_path: Path) -> None:
    where = programs(tmp_path / "bin", case.wall)
    with Execd(write_home(tmp_path / "home", slots=1), programs=where) as execd:
        text = execd.wait_refused()
    assert text.startswith(f"{case.by}: "), text
    assert case.words in text
    assert text.endswith(f"; {layers.cures()[case.by]}"), text


def test_claim_10_with_every_wall_the_same_build_is_ready(tmp_path: Path) -> None:
    where = programs(tmp_path / "bin", "nothing")
    with Execd(write_home(tmp_path / "home", slots=1), programs=where) as execd:
        execd.wait_ready()


def test_claim_10_each_wall_that_is_built_without_is_in_the_table() -> None:
    built = {path.name for path in (BUILD / "slot-without").iterdir()}
    alone = {wall for wall in built if "+" not in wall}
    known = {"nothing", *UNSEEN, *OF_PAYLOADS}
    assert alone - known == {case.wall for case in CASES}


def test_claim_10_the_canary_is_blind_only_where_other_walls_stand_before(
    tmp_path: Path,
) -> None:
    where = programs(tmp_path / "bin", "scopes")
    with Execd(write_home(tmp_path / "home", slots=1), programs=where) as execd:
        execd.wait_ready()
