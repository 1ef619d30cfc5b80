"""kill -9 under load, of each process of a gate at random points, and of its clients.

The dead start again: those of a supervisor by themselves, a supervisor by the test.
"""

from __future__ import annotations

import collections
import importlib
import json
import multiprocessing
import os
import random
import signal
import time
import uuid
from collections.abc import Iterator
from multiprocessing.synchronize import Semaphore
from pathlib import Path
from typing import Any

import pytest
import warded
from warded.v1 import health_wd

from tests.conftest import NewGate, NewHome
from tests.support import crash_clients as clients
from tests.support.calls import OBSERVE, WHO, batch, rows
from tests.support.crash_scene import PATIENCE_S, Scene, wait
from tests.support.execd_client import UID_BASE
from tests.support.gate import Home
from tests.support.marks import Marks
from tests.support.ports import free_port
from tests.support.raw_client import RawClient
from tests.support.stub_gate import StubGate

LONG = bool(os.environ.get("WARDED_LONG"))
CRASHES = {  # who dies: how often, and how often in the long form
    "gate": (8, 200),
    "execd": (6, 100),
    "supervisor": (4, 50),
    "all": (3, 20),
}
CLIENTS = 1000 if LONG else 60
AT_ONCE = 10  # clients that die together
SLOTS = 3
UIDS = range(UID_BASE + 32, UID_BASE + 32 + 2 * SLOTS)
ROOTS = "/usr, /etc/alternatives, /etc/ld.so.cache"


@pytest.fixture
def marks() -> Iterator[Marks]:
    with Marks() as made:
        yield made


@pytest.fixture
def home(new_home: NewHome, marks: Marks) -> Home:
    made = new_home("--listen", f"tls+tcp://127.0.0.1:{free_port()}")
    with made.config.open("a") as config:
        config.write(f"\nsandbox:\n  slots: {SLOTS}\n  uid_base: {UIDS.start}\n")
        config.write(f"  roots: [{ROOTS}, {marks.folder}]\n")
    for number in range(5):
        made.profile(f"trainer{number}", "observe:python_code", ttl="24h")
    return made


Load = list[clients.Client]


@pytest.fixture
def load(home: Home, marks: Marks) -> Iterator[Load]:
    """Five clients, to be started; ended whatever happens."""
    profiles = [home.path / f"profile/trainer{i}" for i in range(5)]
    made = [
        clients.Client(profiles[0]),
        clients.Client(profiles[1]),
        clients.Actor(profiles[2], marks, clients.QUICK),
        clients.Actor(profiles[3], marks, clients.SLOW),
        clients.Repeater(profiles[4], marks, clients.QUICK),
    ]
    yield made
    for client in made:
        if client.is_alive():
            client.end()


@pytest.mark.limit(3600 if LONG else 180)
@pytest.mark.parametrize("who", CRASHES)
def test_claim_04_crashes_lose_nothing_leave_nothing_and_run_nothing_twice(
    home: Home, new_gate: NewGate, load: Load, marks: Marks, who: str
) -> None:
    scene = Scene(new_gate(home), UIDS)
    before = scene.settled()
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
    scene.wait_back_at(before, 15)
    scene.gate.stop()
    nothing_is_lost(home, load)
    nothing_ran_twice(load, marks.counts())


def nothing_is_lost(home: Home, load: Load) -> None:
    """Every acknowledged item has its two rows, of which the second says what the
    client was told, and every row its one partner."""
    heads = sorted({h for client in load for h in client.heads})
    witness = home.path / "witness"
    witness.write_text("".join(f"{seq} {digest}\n" for seq, digest in heads))
    verified = home.tokctl("audit", "verify", "--witness", str(witness), check=False)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    begun: collections.Counter[tuple[str, int]] = collections.Counter()
    ended: dict[tuple[str, int], list[str]] = collections.defaultdict(list)
    for row in map(json.loads, rows(home, "--event", "call.*")):
        key = row["call_id"], int(row.get("item", 0))
        if row["event"] == "call.begin":
            begun[key] += 1
        elif row["event"] == "call.end":
            ended[key].append(ending(row))
    acknowledged = {
        (call, item): told
        for client in load
        for call, outcomes in zip(client.calls, client.outcomes, strict=True)
        for item, told in enumerate(outcomes)
    }
    lost = {k: ended[k] for k, told in acknowledged.items() if ended[k] != [told]}
    assert not lost, f"{len(lost)} of {len(acknowledged)} were told otherwise: {lost}"
    assert max(begun.values()) == 1, [k for k, n in begun.items() if n > 1]
    counts = {key: len(all_of) for key, all_of in ended.items()}
    assert begun == counts, "each begin has one end, after the next start at the latest"


def ending(row: dict[str, Any]) -> str:
    """A row call.end as clients.outcome() has it: of an item, or of a whole call."""
    detail = json.loads(row.get("detail") or "{}")
    status = detail.get("result") or str(row["outcome"]).upper()
    return f"{status} {row['reason']}" if row.get("reason") else str(status)


@pytest.mark.parametrize("told", [["OK"], ["INFRA EXECUTOR_DIED"]])
def test_claim_04_an_answer_whose_end_row_was_lost_is_noticed(
    stub: StubGate, told: list[str]
) -> None:
    """The check itself: a call that was cut off, of which a client says it was told."""
    with RawClient(stub.home.path / "profile/trainer0") as raw:
        request = raw.request(OBSERVE, batch("hold"))
        raw.send(request.SerializeToString())
        stub.wait_for(running=1)
        os.kill(stub.pid, signal.SIGKILL)
        stub.wait_end()
    stub.start()  # writes the end that nobody was told
    stub.stop()
    client = clients.Client(stub.home.path / "profile/trainer0")
    nothing_is_lost(stub.home, [client])
    client.calls.append(str(uuid.UUID(bytes=request.call_id)))
    client.outcomes.append(told)
    with pytest.raises(AssertionError, match="told otherwise"):
        nothing_is_lost(stub.home, [client])
    client.channel.close()


def nothing_ran_twice(load: Load, counts: dict[str, int]) -> None:
    """As the kernel has counted."""
    twice = {name: n for name, n in counts.items() if n > 1}
    assert not twice, f"{len(twice)} of {len(counts)} actions ran more than once"
    ended_well = [n for c in load if isinstance(c, clients.Actor) for n in c.ran]
    assert len(ended_well) == len(set(ended_well))
    assert [n for n in ended_well if counts.get(n) != 1] == []
    print(f"{len(counts)} actions ran, {len(ended_well)} of them ended well")


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
    scene = Scene(new_gate(home), UIDS)
    profiles = [home.path / f"profile/trainer{i}" for i in range(4)]
    health = health_wd.HealthStub(warded.connect(profiles[0]))

    def counts() -> tuple[int, int, dict[str, int]]:
        now = health.Check(health_wd.HealthCheckRequest(), timeout=10)
        return now.in_flight, now.running, scene.holdings()

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
    scene.settled()
    before = counts()
    for _ in range(CLIENTS // AT_ONCE):
        crash(dice)
    wait(f"{before} again", lambda: counts() == before, 30)
