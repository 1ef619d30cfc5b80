"""Who guesses tokens is slowed and on record; others, of the same name too, are not."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from warded.v1 import HealthCheckReply, RevokeRequest, WhoAmIReply

from tests.conftest import NewHome
from tests.support.calls import HEALTH, WHO, reason, rows
from tests.support.gate import Home
from tests.support.raw_client import RawClient
from tests.support.strangers import wait_counted
from tests.support.stub_gate import StubGate

AT_ONCE, WAITING, EACH_S = 20, 16, 0.1
PATIENCE_S = 20.0


@pytest.fixture
def unknown(new_home: NewHome) -> str:
    """A well-formed token that the gate never issued: another store made it."""
    home = new_home()
    home.profile("trainer", "observe:python_code")
    return (home.path / "profile/trainer/token").read_text().strip()


@pytest.fixture
def home(new_home: NewHome) -> Home:
    made = new_home()
    made.profile("trainer", "observe:python_code")
    made.profile("victim", "observe:python_code")
    made.profile("boss", "token:**", "observe:**")
    return made


@pytest.fixture
def folder(home: Home) -> Path:
    return home.path / "profile"


@pytest.fixture
def guesser(folder: Path, stub: StubGate, unknown: str) -> Iterator[RawClient]:
    with RawClient(folder / "trainer", token=unknown) as raw:
        yield raw


def send(raw: RawClient, guesses: int) -> None:
    for _ in range(guesses):
        raw.send(raw.request(WHO).SerializeToString())


def receive(raw: RawClient, guesses: int) -> None:
    for _ in range(guesses):
        assert reason(raw.receive()[1]) == "TOKEN_UNKNOWN"


def refused_tokens(stub: StubGate, many: int) -> list[dict[str, Any]]:
    """The rows that tell of so many refusals: counts are written once a second."""
    until = time.monotonic() + PATIENCE_S
    while True:
        told = [json.loads(row) for row in rows(stub.home, "--event", "auth")]
        counts = [json.loads(row["detail"]).get("count", 1) for row in told]
        if sum(counts) == many:
            return told
        assert time.monotonic() < until, counts
        time.sleep(0.1)


def test_claim_04_a_few_wrong_tokens_are_answered_at_once(guesser: RawClient) -> None:
    send(guesser, AT_ONCE)
    receive(guesser, AT_ONCE)


def test_claim_04_who_guesses_is_slowed_and_on_record(
    stub: StubGate, guesser: RawClient
) -> None:
    start = time.monotonic()
    send(guesser, AT_ONCE + WAITING)
    receive(guesser, AT_ONCE + WAITING)
    assert time.monotonic() - start > (WAITING - 1) * EACH_S
    told = refused_tokens(stub, AT_ONCE + WAITING)
    assert {row["reason"] for row in told} == {"TOKEN_UNKNOWN"}
    assert all(row["principal"].endswith("/client/trainer") for row in told)


def test_claim_04_others_are_not_slowed(
    stub: StubGate, folder: Path, guesser: RawClient
) -> None:
    """The victim, and whoever has the guesser's certificate and a token that holds."""
    send(guesser, AT_ONCE + WAITING)
    with RawClient(folder / "victim") as victim, RawClient(folder / "trainer") as same:
        for _ in range(5):
            assert victim.call(WHO).code == 0
            assert same.call(WHO).code == 0
        waiting = HealthCheckReply.FromString(victim.call(HEALTH).payload).in_flight
        assert waiting > 1, "the guesses wait while the others were answered"
    receive(guesser, AT_ONCE + WAITING)


def test_claim_04_who_guesses_on_loses_the_connection(
    stub: StubGate, folder: Path, guesser: RawClient
) -> None:

    def guess_on() -> None:
        """In a thread of its own: OpenSSL keeps a thread's errors for the victim."""
        send(guesser, AT_ONCE + WAITING)
        receive(guesser, AT_ONCE)  # NNG may lose what it sends while it closes
        while True:
            send(guesser, WAITING)
            receive(guesser, WAITING)

    with RawClient(folder / "victim") as victim, ThreadPoolExecutor(1) as pool:
        with pytest.raises(OSError):  # a reset, or an end
            pool.submit(guess_on).result()
        assert victim.call(WHO).code == 0
        wait_counted(stub, "conn", 1, "QUOTA")


def test_claim_04_a_token_that_was_given_out_is_no_guess(
    stub: StubGate, folder: Path
) -> None:
    """A fleet whose token was revoked is refused at once, and keeps its connections."""
    with RawClient(folder / "trainer") as fleet:
        family = WhoAmIReply.FromString(fleet.call(WHO).payload).token.id
        with RawClient(folder / "boss") as boss:
            revoke = RevokeRequest(ids=[family]).SerializeToString()
            assert boss.call("/warded.v1.Token/Revoke", revoke).code == 0
        calls = 5 * (AT_ONCE + WAITING)
        start = time.monotonic()
        send(fleet, calls)
        for _ in range(calls):
            assert reason(fleet.receive()[1]) == "TOKEN_REVOKED"
        slowed_s = (calls - AT_ONCE) * EACH_S
        assert time.monotonic() - start < slowed_s
        assert reason(fleet.call(WHO)) == "TOKEN_REVOKED"
    assert not rows(stub.home, "--event", "conn")


def test_claim_04_a_gate_that_stops_answers_the_guesses_that_wait(
    stub: StubGate, guesser: RawClient
) -> None:
    send(guesser, AT_ONCE + WAITING)
    receive(guesser, AT_ONCE)
    stub.stop()
    receive(guesser, WAITING)
