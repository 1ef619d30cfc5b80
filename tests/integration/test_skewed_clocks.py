"""Processes whose clock is an hour off: refused once, on record, then well."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.client.c_caller import calling
from tests.conftest import TRAINER, NewGate, NewHome
from tests.support.gate import Gate
from tests.support.raw_client import RawClient, call_id
from tests.support.skew import off

HOUR_S = 3600
PATIENCE_S = 10
WHO = "/warded.v1.Token/WhoAmI"

# Three actions by the Python client, as anybody would; what its clock said.
CLIENT = """
import json, sys, time
import warded
from warded import v1
with warded.connect(sys.argv[1]) as channel:
    stub = v1.ObservationStub(channel)
    tries, outputs = [], []
    for n in range(3):
        item = v1.Item(trajectory_id="t", action=f"print({n})", tool="python_code")
        ask = v1.GetObservationRequest(items=[item])
        reply, done = stub.GetObservation.with_call(ask)
        tries.append(done.attempt)
        outputs.append(reply.results[0].content[0].text)
print(json.dumps([time.time(), tries, outputs]))
"""

DIRECTIONS = [
    (-HOUR_S, "CALL_ID_EXPIRED", "behind"),
    (HOUR_S, "CLOCK_SKEW", "ahead of"),
]


@pytest.fixture
def two(new_home: NewHome, new_gate: NewGate) -> Gate:
    """A gate with two clients: what one is refused is not counted with the other's.

    Their tokens last for long: an hour more or less is no reason to renew one, which
    would be a call of its own.
    """
    home = new_home()
    for name in ("python", "c"):
        home.profile(name, TRAINER, ttl="1d")
    return new_gate(home)


def rows(gate: Gate, client: str, reason: str) -> list[dict[str, object]]:
    """Rows of this client's calls, once a refusal is among them."""
    end = time.monotonic() + PATIENCE_S
    found: list[dict[str, object]] = []
    while time.monotonic() < end and reason not in {row["reason"] for row in found}:
        said = gate.home.tokctl(*"audit query --limit 0 -o jsonl".split()).stdout
        every = [json.loads(line) for line in said.splitlines()]
        found = [row for row in every if str(row["principal"]).endswith(f"/{client}")]
    return found


def expect_one_refusal(found: list[dict[str, object]], reason: str) -> None:
    """One refusal, by its reason, of a call that did not begin; three others ran."""
    refused = [row for row in found if row["event"] == "call.refused"]
    assert [(row["reason"], row["outcome"]) for row in refused] == [(reason, "refused")]
    begun = [row["call_id"] for row in found if row["event"] == "call.begin"]
    ended = [row["call_id"] for row in found if row["event"] == "call.end"]
    assert len(set(begun)) == 3
    assert set(begun) == set(ended)
    assert refused[0]["call_id"] not in begun


@pytest.mark.parametrize(("skew_s", "reason", "_"), DIRECTIONS)
def test_claim_06_a_client_whose_clock_is_an_hour_off_is_refused_once_then_works(
    two: Gate, skew_s: int, reason: str, _: str
) -> None:
    profiles = two.home.path / "profile"
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, profiles / "python"],
        env={**os.environ, **off(skew_s)},
        capture_output=True,
        text=True,
        check=True,
    )
    clock, tries, outputs = json.loads(done.stdout)
    assert abs(clock - time.time() - skew_s) < HOUR_S / 2  # it was off indeed
    assert (tries, outputs) == ([1, 0, 0], ["0\n", "1\n", "2\n"])
    expect_one_refusal(rows(two, "python", reason), reason)
    action = b"print(1)".hex()
    with calling(profiles / "c", **off(skew_s)) as caller:
        said = [caller.do(f"observe 20000 5000 {action}") for _ in range(3)]
    assert {line.split()[0] for line in said} == {"result"}
    expect_one_refusal(rows(two, "c", reason), reason)


@pytest.mark.parametrize(("skew_s", "reason", "where"), DIRECTIONS)
def test_claim_06_the_refusal_names_both_clocks_and_what_to_do(
    trainer: Path, skew_s: int, reason: str, where: str
) -> None:
    with RawClient(trainer) as raw:
        now = raw.call(WHO).now_ms
        dated = now + skew_s * 1000
        reply = raw.call(WHO, call_id=call_id(dated))
    found = re.fullmatch(
        rf"the call id is dated (\S+Z), (\d+) s {where} the gate's clock, which says "
        r"(\S+Z); it takes ids (?:from|up to) (\S+Z): set this host's clock, or date "
        r"new ids by now_ms of the gate's replies",
        reply.message,
    )
    assert found is not None, reply.message
    assert milliseconds(found[1]) == dated
    assert now <= milliseconds(found[3]) <= reply.now_ms
    assert abs(int(found[2]) - HOUR_S) <= 30  # the time that the two calls took
    assert re.search(reason, str(reply)) is not None


def milliseconds(text: str) -> int:
    """Unix time of "2026-01-02T03:04:05.678Z"."""
    at = dt.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return round(at.timestamp() * 1000)
