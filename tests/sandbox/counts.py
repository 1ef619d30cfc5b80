"""What the executor and its slots hold of the machine: to be equal before and after."""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.execd_client import UID_BASE

CGROUPS = Path("/sys/fs/cgroup")
PATIENCE_S = 20.0
LOOK_S = 0.01


@dataclass(frozen=True, slots=True)
class Counts:
    """A moment's numbers."""

    cgroups: tuple[str, ...]
    mounts: int
    children: tuple[int, ...]
    slot_processes: tuple[int, ...]
    descriptors: int
    sockets: int


def take(execd_pid: int, *, slots: int, uid_base: int = UID_BASE) -> Counts:
    """Count now. `slots`: whose uids to look for."""
    proc = Path(f"/proc/{execd_pid}")
    links = list(_links(proc / "fd"))
    return Counts(
        cgroups=tuple(sorted(leaves(execd_pid))),
        mounts=len((proc / "mountinfo").read_text().splitlines()),
        children=tuple(
            int(p)
            for p in (proc / "task" / str(execd_pid) / "children").read_text().split()
        ),
        slot_processes=tuple(processes_of(range(uid_base, uid_base + 2 * slots))),
        descriptors=len(links),
        sockets=sum(link.startswith("socket:") for link in links),
    )


def idle(execd_pid: int, *, slots: int, uid_base: int = UID_BASE) -> Counts:
    """Count once nothing runs, a canary neither."""
    end = time.monotonic() + PATIENCE_S
    while True:
        now = take(execd_pid, slots=slots, uid_base=uid_base)
        if not (now.cgroups or now.children or now.slot_processes):
            return now
        assert time.monotonic() < end, f"it does not come to rest: {now}"
        select.select([], [], [], LOOK_S)


def back_at(
    before: Counts, execd_pid: int, *, slots: int, uid_base: int = UID_BASE
) -> None:
    """Return when all is as before: a canary may run, a dead process be unreaped."""
    end = time.monotonic() + PATIENCE_S
    while (now := take(execd_pid, slots=slots, uid_base=uid_base)) != before:
        assert time.monotonic() < end, f"{now}, not {before}"
        select.select([], [], [], LOOK_S)


def leaves(execd_pid: int) -> Iterator[str]:
    """The executor's cgroups, in every hierarchy."""
    for folder, names, _ in os.walk(CGROUPS):
        yield from (
            f"{folder}/{n}" for n in names if n.startswith(f"warded-{execd_pid}.")
        )


def processes_of(
    uids: range, *, alive: bool = False, before: float = float("inf")
) -> Iterator[int]:
    """Processes of the machine that have these ids.

    `alive`: no zombies. `before`: started earlier, in ticks since boot.
    """
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            status = (entry / "status").read_text()
            uid = int(status.split("\nUid:\t", 1)[1].split("\t", 1)[0])
            if uid not in uids:
                continue
            stat = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            if float(stat[19]) < before and not (alive and stat[0] == "Z"):
                yield int(entry.name)


def _links(folder: Path) -> Iterator[str]:
    for entry in folder.iterdir():
        with contextlib.suppress(OSError):
            yield str(entry.readlink())
