"""Rotation while clients call without pause, and renewal by the client itself."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import warded
from warded._callid import SystemClock
from warded.v1 import (
    HealthCheckRequest,
    HealthStub,
    RetireRequest,
    RotateRequest,
    ShowRequest,
    TokenInfo,
    TokenStub,
    WhoAmIRequest,
)

from tests.conftest import NewHome
from tests.support.gate import Home
from tests.support.stub_gate import StubGate

CLIENTS = 16
LONG = bool(os.environ.get("WARDED_LONG"))
ROTATIONS = 10_000 if LONG else 500
SHOWN_EVERY = 50
PATIENCE_S = 60.0
MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 24 * 3_600_000
STEP_MS = 13 * 60_000
DAYS = 5


@pytest.fixture
def home(new_home: NewHome) -> Home:
    made = new_home()
    made.profile("boss", "token:**", "observe:**", ttl="30d")
    made.profile("trainer", "observe:python_code")
    return made


def write_token(path: Path, token: str) -> None:
    """As an operator does: whole, in one moment."""
    fresh = path.with_name("token.new")
    fresh.touch(0o600)
    fresh.write_text(token + "\n")
    fresh.replace(path)


def wait_until(what: str, ready: object) -> None:
    assert callable(ready)
    end = time.monotonic() + PATIENCE_S
    while not ready():
        assert time.monotonic() < end, what
        time.sleep(0.001)


@dataclass
class Fleet:
    """Clients that call without pause, each by its own connection; one token file."""

    profiles: list[Path]
    counts: list[int] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    stop: bool = False

    def call(self, number: int) -> None:
        channel = warded.connect(self.profiles[number])
        health, token = HealthStub(channel), TokenStub(channel)
        try:
            while not self.stop:
                if self.counts[number] % 20 == 0:
                    token.WhoAmI(WhoAmIRequest())  # one that is on record
                health.Check(HealthCheckRequest())
                self.counts[number] += 1
        except warded.RpcError as error:
            self.failures.append(str(error))
        channel.close()

    def seen_new_token(self) -> None:
        """Wait until each has made a whole call from now on."""
        before = list(self.counts)
        wait_until(
            "every client calls on",
            lambda: (
                self.failures
                or all(n > b + 1 for n, b in zip(self.counts, before, strict=True))
            ),
        )
        assert not self.failures, self.failures[:3]


def make_fleet(home: Home) -> Fleet:
    trainer = home.path / "profile/trainer"
    profiles = []
    for number in range(CLIENTS):
        folder = home.path.parent / f"client{number}"
        shutil.copytree(trainer, folder)
        (folder / "token").unlink()
        (folder / "token").symlink_to(trainer / "token")
        profiles.append(folder)
    return Fleet(profiles, [0] * CLIENTS)


@pytest.mark.limit(3600 if LONG else 180)
def test_claim_01_no_call_fails_while_a_token_is_rotated_again_and_again(
    home: Home,
) -> None:
    token = home.path / "profile/trainer/token"
    family = token.read_text()[5:15]
    with StubGate(home):
        boss = TokenStub(warded.connect(home.path / "profile/boss"))
        fleet = make_fleet(home)
        threads = [
            threading.Thread(target=fleet.call, args=(n,)) for n in range(CLIENTS)
        ]
        for thread in threads:
            thread.start()
        start = time.monotonic()
        for turn in range(ROTATIONS):
            made = boss.Rotate(RotateRequest(id=family, overlap_ms=HOUR_MS))
            write_token(token, made.token)
            fleet.seen_new_token()
            if turn % SHOWN_EVERY == 0:
                old = boss.Show(ShowRequest(id=made.old.id)).info
                assert old.state == TokenInfo.RETIRING
                assert old.last_used_ms > 0
                assert old.last_peer.endswith("/client/trainer")
            boss.Retire(RetireRequest(id=family))
        seconds = time.monotonic() - start
        fleet.stop = True
        for thread in threads:
            thread.join()
        assert not fleet.failures, fleet.failures[:3]
        calls = sum(fleet.counts)
        print(f"{ROTATIONS} rotations, {calls} calls, none failed, {seconds:.1f} s")
        assert boss.Show(ShowRequest(id=family)).generations[-1].generation == (
            ROTATIONS + 1
        )
    home.tokctl("audit", "verify")


class TurnedClock(SystemClock):
    """The host's clocks, turned on."""

    def __init__(self) -> None:
        self.ahead_ms = 0

    def wall_ms(self) -> int:
        return super().wall_ms() + self.ahead_ms

    def mono_ms(self) -> int:
        return super().mono_ms() + self.ahead_ms


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[TurnedClock]:
    turned = TurnedClock()
    monkeypatch.setattr("warded._link.SystemClock", lambda: turned)
    yield turned


def test_claim_01_no_renewal_leads_beyond_thirty_days(
    home: Home, clock: TurnedClock
) -> None:
    profile = home.profile("long", "observe:python_code", ttl="12d")
    first = span(profile / "expires")
    with StubGate(home) as gate, warded.connect(profile) as channel:
        token = TokenStub(channel)
        for _ in range(30 * 2 - 1):
            gate.do(f"clock {12 * HOUR_MS} {12 * HOUR_MS}")
            clock.ahead_ms += 12 * HOUR_MS
            old = span(profile / "expires")
            token.WhoAmI(WhoAmIRequest())
            if old[1] < first[0] + 30 * DAY_MS and (
                clock.wall_ms() >= old[0] + (old[1] - old[0]) * 2 // 3
            ):
                wait_until("renewed", lambda o=old: span(profile / "expires") != o)
        assert span(profile / "expires")[1] <= first[0] + 30 * DAY_MS + MINUTE_MS
        gate.do(f"clock {13 * HOUR_MS} {13 * HOUR_MS}")
        clock.ahead_ms += 13 * HOUR_MS
        with pytest.raises(warded.Unauthenticated) as caught:
            token.WhoAmI(WhoAmIRequest())
    assert caught.value.reason is warded.Reason.TOKEN_EXPIRED


def span(expires: Path) -> tuple[int, int]:
    begin, end = expires.read_text().split()
    return int(begin), int(end)


def test_claim_01_a_client_that_renews_itself_runs_for_days(
    home: Home, clock: TurnedClock
) -> None:
    profile = home.path / "profile/trainer"
    first = span(profile / "expires")
    assert first[1] - first[0] == HOUR_MS
    renewals = 0
    with StubGate(home) as gate, warded.connect(profile) as channel:
        token = TokenStub(channel)
        for _ in range(DAYS * 24 * HOUR_MS // STEP_MS):
            gate.do(f"clock {STEP_MS} {STEP_MS}")
            clock.ahead_ms += STEP_MS
            old = span(profile / "expires")
            who = token.WhoAmI(WhoAmIRequest())
            assert who.token.state == TokenInfo.ACTIVE
            if clock.wall_ms() >= old[0] + (old[1] - old[0]) * 2 // 3:
                wait_until("renewed", lambda o=old: span(profile / "expires") != o)
                renewals += 1
        info = token.WhoAmI(WhoAmIRequest()).token
        assert info.expires_ms == span(profile / "expires")[1]
        assert info.generation == 1
    print(f"{DAYS} days: {renewals} renewals, no call refused")
    assert renewals >= DAYS * 24
    home.tokctl("audit", "verify")
