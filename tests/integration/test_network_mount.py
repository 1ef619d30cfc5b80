"""A store on a file system that lives elsewhere: really mounted, really asked for."""

from __future__ import annotations

import os
import pwd
import re
from pathlib import Path

from tests.conftest import NewHome
from tests.support.facts import facts
from tests.support.fuse_mount import DEVICE, fuse_mount

PLACE_C = Path(__file__).resolve().parents[2] / "store/place.c"


def mountable() -> set[str]:
    """The refused file systems that this kernel can mount."""
    refused = set(re.findall(r'\{0x[0-9A-F]+, "(\w+)"\}', PLACE_C.read_text()))
    kernel = Path("/proc/filesystems").read_text().split()
    return refused & (set(kernel) | ({"fuse"} if DEVICE.exists() else set()))


def test_claim_04_start_refuses_a_store_on_a_mount_that_lives_elsewhere(
    new_home: NewHome,
) -> None:
    if "fuse" not in mountable():
        assert mountable() == set()  # then nothing of the kind can be met here
        return
    home = new_home()
    home.take_uids()
    account = pwd.getpwnam("warded")
    with fuse_mount(home.store, account.pw_uid, account.pw_gid):
        assert os.statvfs(home.store).f_namemax == 255  # it answers
        verdict = facts(home.warded("check", check=False))["store"]
        assert verdict.startswith("FAIL ")
        started = home.warded("serve", check=False)
        listed = home.tokctl("list", check=False)
    said = verdict.removeprefix("FAIL ")
    assert f"{home.store} lies on a network file system" in said
    assert "(fuse)" in said
    assert "set store.path to a local disk" in said
    assert started.returncode == 78
    assert started.stderr.splitlines()[-1] == f"warded serve: gate: {said}"
    assert listed.returncode != 0
    assert home.warded("check").returncode == 0  # unmounted: all is as it was
