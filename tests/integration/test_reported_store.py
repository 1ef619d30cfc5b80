"""What was reported of SQLite under servers elsewhere, under a gate.

The table "Failures that were reported elsewhere" of docs/testing.md names each.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from pathlib import Path

import pytest
from warded.v1 import HealthCheckReply, RevokeRequest

from tests.conftest import NewGate, NewHome
from tests.integration.items import item, send, status
from tests.integration.scene import Scene, issue
from tests.support.calls import (
    HEALTH,
    OBSERVE,
    batch,
    reason,
    results,
    rows,
    wait_for_rows,
)
from tests.support.gate import Home
from tests.support.outside import connect, held
from tests.support.raw_client import RawClient
from tests.support.strangers import gate_pid, meanwhile
from tests.support.stub_gate import StubGate

LONG = bool(os.environ.get("WARDED_LONG"))
HELD_S = 3.0 if LONG else 1.0  # of the store's patience, which is 5
ACTIONS = 100_000 if LONG else 4_000
EACH = 1000  # of one batch
WAL_BYTES = 64 << 20
PATIENCE_S = 180


# --- vjt/grappa-irc#524 --------------------------------------------------------------


def test_a_lock_from_outside_is_waited_for_and_no_row_is_lost(scene: Scene) -> None:
    """Beside a reader, 64 actions at once, and tokens that come and go."""
    home = scene.home
    reads = ("BEGIN", "SELECT count(*) FROM audit")

    def come_and_go() -> None:
        _, token = issue(boss, scene)
        ask = RevokeRequest(ids=[token]).SerializeToString()
        assert boss.call("/warded.v1.Token/Revoke", ask).code == 0

    with (
        RawClient(scene.profile("trainer")) as raw,
        RawClient(scene.profile("boss")) as boss,
        held(home, *reads),
        meanwhile(come_and_go),
    ):
        with held(home, "BEGIN IMMEDIATE"):
            for _ in range(64):
                raw.send(raw.request(OBSERVE, batch("a")).SerializeToString())
            select.select([], [], [], HELD_S)
            assert scene.stub.count().jobs == 0
        for _ in range(64):
            assert results(raw.receive()[1]) == ["OK"]
    assert scene.stub.count().jobs == 64
    for event in ("call.begin", "call.end"):
        assert len(rows(home, "--event", event, "--method", OBSERVE)) == 64
    home.tokctl("audit", "verify")


def test_a_lock_that_outlasts_the_patience_runs_nothing(
    stub: StubGate, caller: RawClient
) -> None:
    with held(stub.home, "BEGIN IMMEDIATE"):
        refused = caller.call(OBSERVE, batch("a"), timeout_ms=60_000)
        assert reason(refused) == "AUDIT_UNWRITABLE"
        health = HealthCheckReply.FromString(caller.call(HEALTH).payload)
        assert health.status == HealthCheckReply.NOT_SERVING
    assert stub.count().jobs == 0
    assert results(caller.call(OBSERVE, batch("a"))) == ["OK"]
    health = HealthCheckReply.FromString(caller.call(HEALTH).payload)
    assert health.status == HealthCheckReply.SERVING
    stub.home.tokctl("audit", "verify")


# --- superseriousbusiness/gotosocial#2808 --------------------------------------------


def took_s(caller: RawClient, actions: int) -> float:
    began = time.monotonic()
    for _ in range(actions // EACH):
        reply = caller.call(OBSERVE, batch(*["a"] * EACH), timeout_ms=60_000)
        assert set(results(reply)) == {"OK"}
    return time.monotonic() - began


def wait_until_small(wal: Path) -> None:
    end = time.monotonic() + PATIENCE_S
    while wal.stat().st_size > WAL_BYTES:
        assert time.monotonic() < end, wal.stat().st_size
        select.select([], [], [], 0.5)


@pytest.mark.limit(1800 if LONG else 180)
def test_the_log_grows_beside_a_reader_and_shrinks_when_it_leaves(
    stub: StubGate, caller: RawClient
) -> None:
    """And a start after a kill takes no longer for it."""
    wal = stub.home.store / "store.db-wal"
    alone = took_s(caller, EACH)
    with held(stub.home, "BEGIN", "SELECT count(*) FROM audit"):
        before = wal.stat().st_size
        beside = took_s(caller, ACTIONS) / (ACTIONS // EACH)
        assert wal.stat().st_size > before
        if LONG:
            wait_for_warning(caller)
    print(f"{EACH} actions: {alone:.2f} s alone, {beside:.2f} s beside a reader")
    assert beside < 20 * alone, "promised: 2"
    wait_until_small(wal)
    stub.do("kill")
    stub.wait_end()
    stub.close()
    began = time.monotonic()
    stub.start()
    assert time.monotonic() - began < 30
    stub.home.tokctl("audit", "verify")


def wait_for_warning(caller: RawClient) -> None:
    """Health tells of it, within a minute or so."""
    end = time.monotonic() + PATIENCE_S
    while True:
        health = HealthCheckReply.FromString(caller.call(HEALTH).payload)
        if any("write-ahead log" in warning for warning in health.warnings):
            return
        assert time.monotonic() < end, health
        select.select([], [], [], 1)


# --- mumble-voip/mumble#5031 ---------------------------------------------------------


def holders(home: Home) -> set[int]:
    """The processes that have the store's database open."""
    found = set()
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if str(link.readlink()).startswith(str(home.store / "store.db")):
                found.add(int(link.parts[2]))
    return found


def test_only_the_gate_has_the_store_open_and_outside_readers_harm_nothing(
    new_home: NewHome, new_gate: NewGate
) -> None:
    home = new_home()
    trainer = home.profile("trainer", "observe:python_code")
    gate = new_gate(home)
    sleeps = threading.Thread(
        target=lambda: send(trainer, item("import time; time.sleep(60)", wall_ms=3000))
    )
    sleeps.start()
    wait_for_rows(home, "call.begin")
    assert holders(home) == {gate_pid(gate)}
    with contextlib.closing(connect(home)) as db:
        counted = 0
        while sleeps.is_alive():
            counted = db.execute("SELECT count(*) FROM audit").fetchone()[0]
            assert status(send(trainer, item("print(1)"))[0]) == "OK"
            home.tokctl("audit", "query", "--limit", "3")
    sleeps.join()
    os.kill(gate_pid(gate), 9)
    gate.stop()
    with contextlib.closing(connect(home)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("SELECT count(*) FROM audit").fetchone()[0] >= counted
    home.tokctl("audit", "verify")
