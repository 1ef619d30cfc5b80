"""kill -9 under load, of each process of a gate at random points, and of its clients.

The dead start again: those of a supervisor by themselves, a supervisor by the test.
"""

from __future__ import annotations

import collections
import contextlib
import importlib
import json
import multiprocessing
import os
import random
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.synchronize import Semaphore
from pathlib import Path

import pytest
import warded
from warded.v1 import health_wd, token_wd
from warded.v1 import observation_wd as pb

from tests.conftest import NewGate, NewHome
from tests.integration.items import item
from tests.integration.test_record import free_port
from tests.sandbox.counts import leaves, processes_of
from tests.support.calls import OBSERVE, WHO, batch, rows
from tests.support.execd_client import UID_BASE
from tests.support.gate import Gate, Home
from tests.support.raw_client import RawClient

LONG = bool(os.environ.get("WARDED_LONG"))
CRASHES = {  # who dies: how often, and how often in the long form
    "gate": (20, 200),
    "execd": (15, 100),
    "supervisor": (8, 50),
    "all": (3, 20),
}
CLIENTS = 1000 if LONG else 100
AT_ONCE = 10  # clients that die together
SLOTS = 3
UIDS = range(UID_BASE + 32, UID_BASE + 32 + 2 * SLOTS)
PATIENCE_S = 60.0
DEATH_S = 5.0  # until nothing of a dead one's actions is left

# The ways in which a call may end beside an answer: clients/python/README.md, "Errors".
CRASH_ENDINGS = (
    warded.Unavailable,
    warded.Busy,
    warded.OutcomeUnknown,
    warded.DeadlineExceeded,
    warded.Cancelled,
    warded.ServerFault,
)
EVENT = re.compile(r"event=child\.(start|ready) child=(\w+) pid=(\d+)")


def wait(what: str, true: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.02)


class Client(threading.Thread):
    """Calls until told to stop; keeps what it was told."""

    def __init__(self, profile: Path, action: str) -> None:
        """`action`: what it has run, twice a call; empty: it asks who it is."""
        super().__init__(daemon=True)
        channel = warded.connect(profile)
        self._who = token_wd.TokenStub(channel)
        self._observe = pb.ObservationStub(channel)
        self._items = [item(action, trajectory_id=t) for t in "ab" if action]
        self._over = threading.Event()
        self.calls: list[str] = []  # ids of the acknowledged
        self.heads: list[tuple[int, str]] = []
        self.wrong = ""

    def run(self) -> None:
        while not self._over.is_set() and not self.wrong:
            try:
                self._call()
            except CRASH_ENDINGS as error:
                self._over.wait(error.retry_after_ms / 1000)
            except Exception as error:  # is the finding
                self.wrong = repr(error)

    def end(self) -> None:
        """What it has begun is the last."""
        self._over.set()
        self.join(PATIENCE_S)
        assert not self.is_alive(), "a call never ended"

    def _call(self) -> None:
        if self._items:
            request = pb.GetObservationRequest(items=self._items)
            said, call = self._observe.GetObservation.with_call(request, timeout=20)
            for result in said.results:
                status = str(pb.Result.Status.Name(result.status))
                if status not in ("OK", "INFRA", "BUSY"):
                    self.wrong = f"{status}: {result.message}"
        else:
            request = token_wd.WhoAmIRequest()
            _, call = self._who.WhoAmI.with_call(request, timeout=5)
        self.calls.append(call.call_id)
        self.heads.append((call.reply.head_seq, call.reply.head_hash.hex()))


class Scene:
    """A gate whose processes die, and what they hold of the machine."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self._dice = random.Random(4)

    def events(self, kind: str, child: str) -> list[int]:
        """Pids of all starts of a child, or of all that became ready."""
        found = EVENT.findall(self.gate.log)
        return [int(p) for k, c, p in found if (k, c) == (kind, child)]

    def crash(self, who: str) -> None:
        """One kill at a random point; returns when all is up again."""
        pids = {c: self.events("start", c)[-1] for c in ("gate", "execd")}
        ready = {c: len(self.events("ready", c)) for c in pids}
        pids["supervisor"] = self.gate.pid
        dying = list(pids) if who == "all" else [who]
        self._dice.shuffle(dying)
        time.sleep(self._dice.uniform(0.02, 0.3))  # the random point
        for child in dying:
            os.kill(pids[child], signal.SIGKILL)
        acting = set(processes_of(UIDS, alive=True))
        if "supervisor" in dying:
            wait("all die with it", lambda: self._processes() == 0, DEATH_S)
            self._all_gone(acting)
            self.gate.kill()
            self.gate.start()
            dying = ["gate", "execd"]
        self._all_gone(acting)
        wait(
            f"{dying} are back",
            lambda: all(len(self.events("ready", c)) > ready[c] for c in dying),
        )

    def _all_gone(self, acting: set[int]) -> None:
        wait(
            "the actions of the dead are dead",
            lambda: not acting & set(processes_of(UIDS, alive=True)),
            DEATH_S,
        )

    def holdings(self) -> dict[str, int]:
        """What is held of the machine while no call runs."""
        execds = self.events("start", "execd")
        return {
            "descriptors": len(list(Path(f"/proc/{self.gate.pid}/fd").iterdir())),
            "processes": self._processes(),
            "slot processes": len(list(processes_of(UIDS))),
            "mounts": len(Path("/proc/self/mountinfo").read_text().splitlines()),
            "cgroups": sum(1 for pid in execds for _ in leaves(pid)),
        }

    def _processes(self) -> int:
        """Those that bear the home's name, as all of a gate do; a zombie has none."""
        home, found = str(self.gate.home.path).encode(), 0
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                found += home in path.read_bytes()
        return found


@pytest.fixture
def home(new_home: NewHome) -> Home:
    made = new_home("--listen", f"tls+tcp://127.0.0.1:{free_port()}")
    with made.config.open("a") as config:
        config.write(f"\nsandbox:\n  slots: {SLOTS}\n  uid_base: {UIDS.start}\n")
    for number in range(4):
        made.profile(f"trainer{number}", "observe:python_code", ttl="24h")
    return made


@pytest.fixture
def load(home: Home) -> Iterator[list[Client]]:
    """Four clients, to be started; ended whatever happens."""
    actions = ("", "", "print(1)", "import time; time.sleep(2)")
    path = home.path / "profile"
    made = [Client(path / f"trainer{i}", a) for i, a in enumerate(actions)]
    yield made
    for client in made:
        if client.is_alive():
            client.end()


@pytest.mark.limit(3600 if LONG else 180)
@pytest.mark.parametrize("who", CRASHES if LONG else ("gate", "execd"))
def test_claim_04_crashes_lose_nothing_leave_nothing_and_run_nothing_twice(
    home: Home, new_gate: NewGate, load: list[Client], tmp_path: Path, who: str
) -> None:
    scene = Scene(new_gate(home))
    before = scene.holdings()
    for client in load:
        client.start()
    wait("every client is answered", lambda: all(c.calls or c.wrong for c in load))
    for _ in range(CRASHES[who][LONG]):
        scene.crash(who)
    answered = [len(c.calls) for c in load]
    wait(
        "every client goes on",
        lambda: all(
            len(c.calls) > n or c.wrong for c, n in zip(load, answered, strict=True)
        ),
    )
    for client in load:
        client.end()
    assert not any(c.wrong for c in load), [c.wrong for c in load]
    wait(f"{before} again: {scene.holdings()}", lambda: scene.holdings() == before, 10)
    scene.gate.stop()
    nothing_is_lost(home, load, tmp_path / "witness")


def nothing_is_lost(home: Home, load: list[Client], witness: Path) -> None:
    """Every acknowledged call has its rows, and no item has begun twice."""
    heads = sorted({h for client in load for h in client.heads})
    witness.write_text("".join(f"{seq} {digest}\n" for seq, digest in heads))
    verified = home.tokctl("audit", "verify", "--witness", str(witness), check=False)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    events: dict[str, set[str]] = {}
    begun: collections.Counter[tuple[str, int]] = collections.Counter()
    for line in rows(home, "--event", "call.*"):
        row = json.loads(line)
        events.setdefault(row["call_id"], set()).add(row["event"])
        if row["event"] == "call.begin":
            begun[row["call_id"], int(row.get("item", 0))] += 1
    acknowledged = [call for client in load for call in client.calls]
    both = {"call.begin", "call.end"}
    lost = [c for c in acknowledged if not both <= events.get(c, set())]
    assert not lost, f"{len(lost)} of {len(acknowledged)} acknowledged calls lack a row"
    assert max(begun.values()) == 1, [k for k, n in begun.items() if n > 1]


def half_a_call(profile: Path, way: int, out: Semaphore) -> None:
    """A client that is to die: it says when its call is out, and waits."""
    with RawClient(profile) as raw:
        if way == 0:
            raw.send_bytes(b"\0\0\0\0\0\0\1\0half")
        elif way == 1:
            raw.send(raw.request(WHO).SerializeToString())
        else:
            action = "print(1)" if way == 2 else "import time; time.sleep(60)"
            raw.send(raw.request(OBSERVE, batch(action, action)).SerializeToString())
        out.release()
        signal.pause()


@pytest.mark.limit(900 if LONG else 180)
def test_claim_04_clients_that_die_in_a_call_leave_nothing_at_the_gate(
    home: Home, new_gate: NewGate
) -> None:
    scene = Scene(new_gate(home))
    profiles = [home.path / f"profile/trainer{i}" for i in range(4)]
    health = health_wd.HealthStub(warded.connect(profiles[0]))

    def counts() -> tuple[int, ...]:
        now = health.Check(health_wd.HealthCheckRequest(), timeout=10)
        gate, execd = (scene.events("ready", c)[-1] for c in ("gate", "execd"))
        kinds = [f"{gate}/fd", f"{gate}/task", f"{execd}/fd", f"{execd}/task"]
        held = (len(list(Path(f"/proc/{kind}").iterdir())) for kind in kinds)
        return (now.in_flight, now.running, *held)

    def crash(dice: random.Random) -> None:
        out = make.Semaphore(0)
        dying = [
            make.Process(target=victim, args=(dice.choice(profiles), n % 4, out))
            for n in range(AT_ONCE)
        ]
        for process in dying:
            process.start()
        for _ in dying:
            assert out.acquire(timeout=PATIENCE_S), "a client never came to its call"
        time.sleep(dice.uniform(0, 0.2))  # the random point
        for process in dying:
            process.kill()
            process.join()

    make = multiprocessing.get_context("forkserver")
    module = "tests.integration.test_crashes"  # not as pytest names it
    make.set_forkserver_preload([module])
    victim = importlib.import_module(module).half_a_call
    dice = random.Random(4)
    wait("the gate has nothing to do", lambda: counts()[1] == 0)
    before, holdings = counts(), scene.holdings()
    for _ in range(CLIENTS // AT_ONCE):
        crash(dice)
    wait("the gate's counts are as before", lambda: counts() == before, 30)
    assert scene.holdings() == holdings
