"""A gate whose processes die, and what they hold of the machine."""

from __future__ import annotations

import contextlib
import os
import random
import re
import select
import signal
import time
from collections.abc import Callable
from pathlib import Path

from tests.sandbox.counts import leaves, processes_of
from tests.support.gate import Gate

PATIENCE_S = 60.0
DEATH_S = 5.0  # until nothing of a dead one's actions is left
LOOK_S = 0.02
STILL_S = 0.5
START_S = 0.4  # what a start takes, its recovery with it
OF_STARTS = 1 / 3  # such a part is killed as well
CHILDREN = ("gate", "execd")
EVENT = re.compile(r"event=child\.(start|ready) child=(\w+) pid=(\d+)")


def wait(what: str, true: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    """Look until it is so."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"not within {seconds:.0f} s: {what}"
        select.select([], [], [], LOOK_S)


def entries(folder: str) -> int:
    """How many there are."""
    return len(list(Path(folder).iterdir()))


def told(pids: list[int]) -> str:
    """What there is to know of these processes."""
    said = []
    for pid in pids:
        with contextlib.suppress(OSError):
            text = "".join(
                Path(f"/proc/{pid}/{name}").read_text() for name in ("stat", "wchan")
            )
            said.append(text)
    return "; ".join(said)


class Scene:
    """What dies, and when."""

    def __init__(self, gate: Gate, uids: range) -> None:
        self.gate = gate
        self._uids = uids
        self._dice = random.Random(4)
        wait("both are up", lambda: all(self.events("ready", c) for c in CHILDREN))

    def events(self, kind: str, child: str) -> list[int]:
        """Pids of all starts of a child, or of all that became ready."""
        found = EVENT.findall(self.gate.log)
        return [int(p) for k, c, p in found if (k, c) == (kind, child)]

    def crash(self, who: str) -> None:
        """One kill at a random point, and some of who starts again; returns when all
        is up again."""
        pids = {child: self.events("start", child)[-1] for child in CHILDREN}
        old = {child: {*self.events("start", child)} for child in CHILDREN}
        with contextlib.ExitStack() as stack:
            ends = {child: os.pidfd_open(pid) for child, pid in pids.items()}
            for fd in ends.values():
                stack.callback(os.close, fd)
            pids["supervisor"] = self.gate.pid
            dying = list(pids) if who == "all" else [who]
            self._dice.shuffle(dying)
            time.sleep(self._dice.uniform(0.02, 0.3))  # the random point
            ticks = time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK")
            for child in dying:
                os.kill(pids[child], signal.SIGKILL)
            if "supervisor" in dying:
                dying = list(CHILDREN)
                self.gate.bury()  # and nobody waits for the others
                self.gate.start()
            elif self._dice.random() < OF_STARTS:
                old[who].add(self._kill_in_its_start(who, len(old[who])))
            wait(
                f"{dying} are back",
                lambda: all(self.events("ready", c)[-1] not in old[c] for c in dying),
            )
            dead, _, _ = select.select(list(ends.values()), [], [], 0)
            assert dead == [ends[c] for c in CHILDREN if c in dying], "both are here"
        # execd has said so before another gate is started; its own slots take longer.
        patience = 0 if dying == ["gate"] else DEATH_S
        end = time.monotonic() + patience
        while left := list(processes_of(self._uids, alive=True, before=ticks)):
            assert time.monotonic() < end, f"of the dead {dying} live: {told(left)}"
            select.select([], [], [], LOOK_S)

    def _kill_in_its_start(self, child: str, starts: int) -> int:
        """At a random point, at which it may just be ready; its pid."""
        wait(f"{child} starts", lambda: len(self.events("start", child)) > starts)
        time.sleep(self._dice.uniform(0, START_S))
        pid = self.events("start", child)[-1]
        os.kill(pid, signal.SIGKILL)
        return pid

    def holdings(self) -> dict[str, int]:
        """What is held of the machine while no call runs."""
        pids = {child: self.events("ready", child)[-1] for child in CHILDREN}
        pids["supervisor"] = self.gate.pid
        kinds = ("fd", "task")
        held = {
            f"{c} {k}": entries(f"/proc/{p}/{k}")
            for c, p in pids.items()
            for k in kinds
        }
        return held | {
            "processes": self._processes(),
            "slot processes": len(list(processes_of(self._uids))),
            "mounts": sum(
                len(Path(f"/proc/{p}/mountinfo").read_text().splitlines())
                for p in pids.values()
            ),
            "cgroups": sum(1 for p in self.events("start", "execd") for _ in leaves(p)),
            "files of run": entries(f"{self.gate.home.path}/run"),
        }

    def settled(self) -> dict[str, int]:
        """The holdings, once they stay the same for a while."""
        held, since = self.holdings(), time.monotonic()
        while time.monotonic() - since < STILL_S:
            select.select([], [], [], LOOK_S)
            if (now := self.holdings()) != held:
                held, since = now, time.monotonic()
        return held

    def wait_back_at(self, before: dict[str, int], seconds: float) -> None:
        """Look until the holdings are those again."""
        end = time.monotonic() + seconds
        while (now := self.holdings()) != before:
            other = {k: (n, now[k]) for k, n in before.items() if now[k] != n}
            assert time.monotonic() < end, f"held before, and now: {other}"
            select.select([], [], [], LOOK_S)

    def _processes(self) -> int:
        """Those that bear the home's name, as all of a gate do."""
        home, found = str(self.gate.home.path).encode(), 0
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                found += home in path.read_bytes()
        return found
