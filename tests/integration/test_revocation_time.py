"""How long what a token runs lives on after it was taken back."""

from __future__ import annotations

import os
import select
import time
from contextlib import ExitStack

from warded.v1 import (
    GetObservationRequest,
    HealthCheckReply,
    IssueReply,
    IssueRequest,
    Item,
    Limits,
    RevokeReply,
    RevokeRequest,
)

from tests.conftest import NewGate, NewHome
from tests.sandbox.counts import processes_of
from tests.support.calls import HEALTH, OBSERVE, reason
from tests.support.gate import UID_BASES, Home
from tests.support.raw_client import RawClient

ACTIONS = 64
CONNECTIONS = 8
SIGNALLED_MS, DEAD_MS = 50, 500
SLOWER = 10  # what a build for tests beside other work may be
LONG_MS = 60_000
PATIENCE_S = 60.0
TRAINER = "uri:spiffe://warded.local/ns/default/owner/root/client/trainer"
SLEEP = "import time\nprint('on', flush=True)\ntime.sleep(60)"


def make_home(home: Home) -> range:
    """With a slot for each action; their ids."""
    base = next(UID_BASES)
    while next(UID_BASES) < base + 2 * (ACTIONS + 1):
        pass
    setting = f"\nsandbox:\n  uid_base: {base}\n  slots: {ACTIONS + 1}\n"
    text = home.config.read_text()
    bare = text.replace("\nsandbox:\n", setting, 1)
    home.config.write_text(bare if bare != text else text + setting)
    return range(base, base + 2 * (ACTIONS + 1))


def issue(boss: RawClient) -> IssueReply:
    asked = IssueRequest(name="x", scopes=["observe:python_code"], bind=TRAINER)
    reply = boss.call("/warded.v1.Token/Issue", asked.SerializeToString())
    assert reply.code == 0, reply.message
    return IssueReply.FromString(reply.payload)


def start_actions(raw: RawClient, n: int) -> None:
    item = Item(
        trajectory_id="t",
        tool="python_code",
        action=SLEEP,
        limits=Limits(wall_ms=LONG_MS, cpu_ms=LONG_MS, memory_bytes=64 << 20),
    )
    payload = GetObservationRequest(items=[item]).SerializeToString()
    for _ in range(n):
        request = raw.request(OBSERVE, payload, timeout_ms=LONG_MS)
        raw.send(request.SerializeToString())


def wait_until_running(boss: RawClient) -> None:
    end = time.monotonic() + PATIENCE_S
    while HealthCheckReply.FromString(boss.call(HEALTH).payload).running < ACTIONS:
        assert time.monotonic() < end, "they do not all run"
        time.sleep(0.01)


def open_processes(uids: range, stack: ExitStack) -> list[int]:
    fds = [os.pidfd_open(pid) for pid in processes_of(uids, alive=True)]
    for fd in fds:
        stack.callback(os.close, fd)
    assert len(fds) >= ACTIONS
    return fds


def wait_for_deaths(fds: list[int]) -> None:
    """Until none of the processes lives; they are looked at by descriptor."""
    end = time.monotonic() + PATIENCE_S
    while fds:
        dead, _, _ = select.select(fds, [], [], end - time.monotonic())
        assert dead, f"{len(fds)} processes live on"
        fds = [fd for fd in fds if fd not in dead]


def test_claim_02_running_calls_are_signalled_within_50_ms_and_dead_within_500(
    new_home: NewHome, new_gate: NewGate
) -> None:
    home = new_home()
    uids = make_home(home)
    trainer = home.profile("trainer", "observe:python_code")
    boss_profile = home.profile("boss", "token:**", "observe:**")
    new_gate(home)
    with ExitStack() as stack:
        boss = stack.enter_context(RawClient(boss_profile))
        made = issue(boss)
        raws = [
            stack.enter_context(RawClient(trainer, token=made.token))
            for _ in range(CONNECTIONS)
        ]
        for raw in raws:
            start_actions(raw, ACTIONS // CONNECTIONS)
        wait_until_running(boss)
        fds = open_processes(uids, stack)
        begun = time.monotonic()
        ask = RevokeRequest(ids=[made.info.id]).SerializeToString()
        reply = boss.call("/warded.v1.Token/Revoke", ask)
        answered_ms = (time.monotonic() - begun) * 1000
        wait_for_deaths(fds)
        dead_ms = (time.monotonic() - begun) * 1000
        done = RevokeReply.FromString(reply.payload)
        assert done.calls_signalled == ACTIONS
        each = range(ACTIONS // CONNECTIONS)
        ends = [reason(raw.receive()[1]) for raw in raws for _ in each]
        told_ms = (time.monotonic() - begun) * 1000
    print(
        f"{ACTIONS} running actions, {len(fds)} processes: signalled after "
        f"{done.took_us / 1000:.1f} ms, on disk after {done.durable_us / 1000:.1f} ms, "
        f"answered after {answered_ms:.1f} ms, dead after {dead_ms:.1f} ms, "
        f"callers told after {told_ms:.1f} ms"
    )
    assert set(ends) == {"CANCELLED"}
    assert done.took_us / 1000 < SIGNALLED_MS * SLOWER
    assert dead_ms < DEAD_MS * SLOWER
