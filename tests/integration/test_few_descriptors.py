"""Few descriptors: no principal takes them all, and a start says what they carry."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import NewHome
from tests.support import strangers
from tests.support.calls import HEALTH
from tests.support.facts import facts
from tests.support.gate import program, run
from tests.support.raw_client import RawClient
from tests.support.stub_gate import RefusedError, StubGate

LIMIT = 288
CONNECTIONS = 121  # of LIMIT - 128, less 39 for handshakes
SHARE = CONNECTIONS // 4
GREEDY = [f"greedy{i}" for i in range(4)]
FREE = 20  # a sixteenth, and as many as the last of them has


def few(limit: int) -> tuple[str, ...]:
    """Run the rest of the line with so many descriptors."""
    return ("prlimit", f"--nofile={limit}:{limit}")


@pytest.fixture
def gate(new_home: NewHome) -> Iterator[StubGate]:
    """With LIMIT descriptors."""
    home = new_home()
    for name in ("trainer", *GREEDY):
        home.profile(name, "observe:python_code")
    with StubGate(home, wrap=few(LIMIT)) as running:
        yield running


def let_in(profile: Path, stack: contextlib.ExitStack) -> bool:
    """Is one more connection of this profile?"""
    try:
        raw = RawClient(profile)
        stack.callback(raw.close)
        return bool(raw.call(HEALTH).code == 0)
    except OSError:
        return False


def test_claim_03_no_principal_takes_all_descriptors(gate: StubGate) -> None:
    greedy = [gate.home.path / "profile" / name for name in GREEDY]
    friend = gate.home.path / "profile/trainer"
    with contextlib.ExitStack() as stack:
        said = [let_in(greedy[0], stack) for _ in range(SHARE + 5)]
        assert said == [True] * SHARE + [False] * 5
        had = {profile.name: 0 for profile in greedy[1:]}
        for profile in greedy[1:]:
            while let_in(profile, stack):
                had[profile.name] += 1
        usage = strangers.Usage(gate.pid)
        usage.look()
        print(f"{usage.descriptors} of {LIMIT} descriptors; others had {had}")
        assert SHARE + sum(had.values()) + FREE == CONNECTIONS
        for _ in range(FREE // 3):
            assert let_in(friend, stack)
        usage.look()
        assert usage.descriptors < LIMIT
        strangers.wait_counted(gate, "conn", 5, "QUOTA")
    assert "gate.descriptors" in gate.log
    assert "LimitNOFILE=" in gate.log


def test_claim_03_who_does_not_greet_takes_no_connections_of_others(
    gate: StubGate,
) -> None:
    """With a certificate and without a word: among the half-open ones until then."""
    with contextlib.ExitStack() as stack:
        silent = 0
        for _ in range(LIMIT):
            with contextlib.suppress(OSError):  # it gave its place up already
                raw = RawClient(gate.home.path / "profile" / GREEDY[0], greet=False)
                stack.callback(raw.close)
                silent += 1
        assert silent > CONNECTIONS
        for _ in range(5):
            assert let_in(gate.home.path / "profile/trainer", stack)
        usage = strangers.Usage(gate.pid)
        usage.look()
        print(f"{usage.descriptors} of {LIMIT} descriptors")
        assert usage.descriptors < LIMIT // 2
        strangers.wait_counted(gate, "tls.reject", CONNECTIONS, "half_open_limit")


@pytest.mark.parametrize("limit", [255, 256])
def test_claim_03_a_start_needs_256_descriptors(new_home: NewHome, limit: int) -> None:
    gate = StubGate(new_home(), wrap=few(limit))
    if limit == 256:
        with gate:
            return
    with pytest.raises(RefusedError, match=r"is 255: .* LimitNOFILE="), gate:
        pass
    gate.close()


@pytest.mark.parametrize(
    ("limit", "says"),
    [(255, "FAIL "), (256, "warn "), (10623, "warn "), (10624, "ok ")],
)
def test_claim_03_check_tells_what_the_descriptors_carry(
    new_home: NewHome, limit: int, says: str
) -> None:
    home = new_home()
    words = (program("warded"), "--home", home.path, "check")
    fact = facts(run(*few(limit), *words, check=False))["descriptors"]
    assert fact.startswith(says)
    assert ("LimitNOFILE=" in fact) == (says != "ok ")
