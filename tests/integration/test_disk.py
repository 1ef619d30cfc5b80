"""A disk that fills up under a real gate: refused at once, nothing lost, and back."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import warded
from warded.v1 import RevokeRequest, TokenStub, WhoAmIRequest

from tests.conftest import NewGate, NewHome
from tests.integration.items import item, send, status
from tests.support.facts import facts
from tests.support.gate import Home, run
from tests.support.strangers import gate_pid

GOOD = "observe:python_code"
DISK = "size=48m"
RESERVE = "audit: {reserve_bytes: 16777216}\n"
PATIENCE_S = 30.0


@pytest.fixture
def home(new_home: NewHome) -> Iterator[Home]:
    """A home whose store has a small disk of its own."""
    home = new_home()
    home.configure(RESERVE)
    (home.store / "reserve").unlink()  # it was made for a larger disk
    aside = home.path / "aside"
    run("cp", "-a", home.store, aside)
    run("mount", "-t", "tmpfs", "-o", DISK, "small", home.store)
    try:
        run("cp", "-a", f"{aside}/.", home.store)
        yield home
    finally:
        run("umount", "-l", home.store)


def fill(home: Home) -> Path:
    """Leave 1 MiB, which is less than the reserve."""
    ballast = home.store / "ballast"
    with ballast.open("wb") as file:
        while free(home) > 2 << 20:
            file.write(b"\0" * (1 << 20))
            file.flush()
    return ballast


def free(home: Home) -> int:
    """Bytes that the store's disk has left."""
    disk = os.statvfs(home.store)
    return disk.f_bavail * disk.f_frsize


def runs_again(home: Home) -> None:
    """An action runs, sooner or later: the gate comes back by itself."""
    trainer = home.path / "profile/trainer"
    end = time.monotonic() + 2 * PATIENCE_S
    while True:
        with contextlib.suppress(FileNotFoundError):  # of one that is not there yet
            home.dial((home.path / "run/address").read_text().strip())
        try:
            assert status(send(trainer, item("print(3)"))[0]) == "OK"
            return
        except warded.Unavailable:
            assert time.monotonic() < end, "it does not come back by itself"
            time.sleep(0.1)


def test_claim_09_below_the_reserve_only_what_mutates_is_refused(
    home: Home, new_gate: NewGate
) -> None:
    trainer = home.profile("trainer", GOOD)
    other = home.profile("other", GOOD)
    admin = home.profile("boss", "token:**", "audit:read")
    new_gate(home)
    mine = TokenStub(warded.connect(trainer))
    boss = TokenStub(warded.connect(admin))
    theirs = TokenStub(warded.connect(other)).WhoAmI(WhoAmIRequest(), timeout=10)
    assert status(send(trainer, item("print(1)"))[0]) == "OK"

    ballast = fill(home)
    began = time.monotonic()
    with pytest.raises(warded.Unavailable) as caught:
        send(trainer, item("print(2)"))
    assert caught.value.reason.name == "AUDIT_UNWRITABLE"
    assert time.monotonic() - began < 1, "ten times the promised 100 ms"
    assert mine.WhoAmI(WhoAmIRequest(), timeout=10).principal, "reads go on"
    done = boss.Revoke(RevokeRequest(ids=[theirs.token.id]), timeout=10)
    assert done.revoked == 1, "revocation goes on"

    ballast.unlink()
    runs_again(home)
    home.tokctl("audit", "verify")


def fill_up(home: Home) -> None:
    """Leave nothing at all, and no reserve to give back."""
    os.truncate(home.store / "reserve", 0)
    for piece in (1 << 20, 4096):
        with (
            contextlib.suppress(OSError),
            (home.store / f"full{piece}").open("wb", buffering=0) as file,
        ):
            while True:
                file.write(b"\0" * piece)
    assert free(home) == 0


def test_claim_09_on_a_full_disk_a_revocation_holds_at_once(
    home: Home, new_gate: NewGate
) -> None:
    trainer = home.profile("trainer", GOOD)
    admin = home.profile("boss", "token:**", "audit:read")
    stranger = home.profile("stranger", GOOD)
    new_gate(home)
    boss = TokenStub(warded.connect(admin))
    theirs = TokenStub(warded.connect(trainer))
    mine = theirs.WhoAmI(WhoAmIRequest(), timeout=10).token.id
    assert boss.WhoAmI(WhoAmIRequest(), timeout=10).principal

    fill_up(home)
    (stranger / "token").write_text("hunter2\n")
    for _ in range(20):  # refusals want no room, and stay what they are
        with pytest.raises(warded.RpcError) as refused:
            TokenStub(warded.connect(stranger)).WhoAmI(WhoAmIRequest(), timeout=10)
        assert refused.value.reason.name == "TOKEN_MALFORMED"
    try:
        assert boss.Revoke(RevokeRequest(ids=[mine]), timeout=10).revoked == 1
    except warded.RpcError as error:  # unless the WAL has room to write over
        assert error.reason.name == "OUTCOME_UNRECORDED", error
    with pytest.raises(warded.RpcError) as caught:
        theirs.WhoAmI(WhoAmIRequest(), timeout=10)
    assert caught.value.reason.name == "TOKEN_REVOKED"

    for name in ("full1048576", "full4096"):
        (home.store / name).unlink()


def test_a_gate_killed_on_a_full_disk_comes_back_once_there_is_room(
    home: Home, new_gate: NewGate
) -> None:
    """strongloop/strong-pm#368: no crash loop meanwhile, and no damage."""
    trainer = home.profile("trainer", GOOD)
    gate = new_gate(home)
    assert status(send(trainer, item("print(1)"))[0]) == "OK"
    fill_up(home)
    with pytest.raises(warded.Unavailable) as caught:
        send(trainer, item("print(2)"))
    assert caught.value.reason.name == "AUDIT_UNWRITABLE"
    os.kill(gate_pid(gate), signal.SIGKILL)
    end = time.monotonic() + PATIENCE_S
    while "child.refused" not in gate.log:
        assert time.monotonic() < end, "a start on a full disk is not refused"
        time.sleep(0.05)
    for name in ("full1048576", "full4096"):
        (home.store / name).unlink()
    runs_again(home)
    assert gate.log.count("child.refused") < 10
    home.tokctl("audit", "verify")


def test_below_the_reserve_check_warns_and_a_start_passes(
    home: Home, new_gate: NewGate
) -> None:
    gate = new_gate(home)
    gate.stop()  # the reserve is made
    fill(home)
    done = home.warded("check")
    assert facts(done)["store room"].startswith("warn ")
    assert "AUDIT_UNWRITABLE" in facts(done)["store room"]
    assert "'warded serve' would start" in done.stdout
    gate.start()
