"""Two executors of one machine never run slots under the same ids."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sandbox import layers
from tests.support.execd_client import UID_BASE, Execd, write_home

SLOTS = 2


@pytest.mark.parametrize("offset", [0, 1, 3, -1, -3])
def test_claim_10_overlapping_ids_are_refused_with_their_holder_and_cure(
    offset: int, tmp_path: Path
) -> None:
    first = write_home(tmp_path / "first", slots=SLOTS)
    base = UID_BASE + offset
    second = write_home(tmp_path / "second", slots=SLOTS, uid_base=base)
    with Execd(first) as holder:
        holder.wait_ready()
        with Execd(second) as other:
            text = other.wait_refused()
        assert text.startswith(f"uid-range: {base}..{base + 3}: process {holder.pid} ")
        assert "another sandbox.uid_base" in text
        assert text.endswith(f"; {layers.cures()['uid-range']}")
        holder.kill()
        with Execd(second) as again:  # what was claimed goes with its claimant
            again.wait_ready()


def test_claim_10_executors_side_by_side_are_both_ready(tmp_path: Path) -> None:
    first = write_home(tmp_path / "first", slots=SLOTS)
    second = write_home(tmp_path / "second", slots=SLOTS, uid_base=UID_BASE + 4)
    with Execd(first) as one, Execd(second) as two:
        one.wait_ready()
        two.wait_ready()


def test_claim_10_other_mounts_hide_no_executor(tmp_path: Path) -> None:
    away = (
        "unshare",
        "--mount",
        "sh",
        "-ec",
        'mount -t tmpfs none /run; exec "$@"',
        "",
    )
    with Execd(write_home(tmp_path / "first", slots=1), wrap=away) as holder:
        holder.wait_ready()
        with Execd(write_home(tmp_path / "second", slots=1)) as other:
            assert other.wait_refused().startswith("uid-range: ")
