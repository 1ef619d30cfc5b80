"""Peers that are gone without a word: no FIN, no RST, as when a cable is pulled."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from tests.conftest import NewHome
from tests.support.calls import HEALTH, OBSERVE, batch, results, rows
from tests.support.gate import Home
from tests.support.raw_client import RawClient
from tests.support.stub_gate import StubGate

DEADLINE_MS = 300_000
GRACE_MS = 300
SILENCE_S = 3
KEEPALIVE = 2  # of the timers in /proc/net/tcp
TICKS = 100  # a second there
PATIENCE_S = 60.0
LARGE = batch(*["big 1048576"] * 12)
UNSENT_BYTES = 128 << 10
SLACK_BYTES = 512 << 10  # sent and not acknowledged


@pytest.fixture
def home(new_home: NewHome) -> Home:
    made = new_home()
    for n in range(2):
        made.profile(f"client{n}", "observe:python_code")
    return made


def park(client: RawClient) -> None:
    request = client.request(OBSERVE, batch("hold"), timeout_ms=DEADLINE_MS)
    client.send(request.SerializeToString())


def wait_for_kill(stub: StubGate) -> None:
    until = time.monotonic() + PATIENCE_S
    while stub.count().cancelled == 0:
        assert time.monotonic() < until


def ended_on_record(home: Home) -> tuple[str, float]:
    """Of the one action that ended: why, and after how many seconds."""
    begin, end = map(json.loads, rows(home, "--method", OBSERVE))
    return str(end["reason"]), (end["mono_ns"] - begin["mono_ns"]) / 1e9


def test_claim_07_a_peer_that_is_gone_without_a_word_has_its_actions_killed(
    home: Home,
) -> None:
    folder = home.path / "profile"
    with (
        StubGate(home, grace_ms=GRACE_MS, silence_s=SILENCE_S) as stub,
        RawClient(folder / "client0") as gone,
        RawClient(folder / "client1") as other,
    ):
        park(gone)
        stub.wait_for(running=1)
        gone.pull_cable()
        wait_for_kill(stub)
        assert other.call(HEALTH).code == 0  # it answers, and so it stays
        reason, after_s = ended_on_record(home)
        assert reason == "CANCELLED"
        assert SILENCE_S - 1 < after_s < DEADLINE_MS / 1000 / 4


def test_claim_07_a_reply_that_nobody_takes_tells_of_a_gone_peer(home: Home) -> None:
    """Keepalive asks nothing while data is on its way: the data's own limit holds."""
    with (
        StubGate(home, grace_ms=GRACE_MS, silence_s=SILENCE_S) as stub,
        RawClient(home.path / "profile/client0") as gone,
    ):
        park(gone)
        stub.wait_for(running=1)
        gone.pull_cable()
        gone.send(gone.request(HEALTH).SerializeToString())
        wait_for_kill(stub)
        assert ended_on_record(home)[0] == "CANCELLED"


def test_claim_07_a_peer_that_answers_is_not_silent(home: Home) -> None:
    """It sends nothing for longer than the limit, and its action goes on."""
    with (
        StubGate(home, grace_ms=GRACE_MS, silence_s=SILENCE_S) as stub,
        RawClient(home.path / "profile/client0") as gone,
        RawClient(home.path / "profile/client1") as quiet,
    ):
        park(quiet)
        park(gone)
        stub.wait_for(running=2)
        gone.pull_cable()
        wait_for_kill(stub)
        stub.wait_for(running=1, cancelled=1)
        stub.do("finish")
        assert results(quiet.receive()[1]) == ["OK"]


def gates_end(gate_port: int, client_port: int) -> list[str]:
    """What proc_net(5) tells of the gate's end of a connection."""
    ends = rf":{gate_port:04X} [0-9A-F]+:{client_port:04X} "
    table = Path("/proc/net/tcp").read_text()
    return next(x for x in table.splitlines() if re.search(ends, x)).split()


def timer_of(gate_port: int, client_port: int) -> tuple[int, float]:
    """Which timer runs, and for how many seconds."""
    kind, ticks = gates_end(gate_port, client_port)[5].split(":")
    return int(kind, 16), int(ticks, 16) / TICKS


def unread_of(gate_port: int, client_port: int) -> int:
    """Bytes that the kernel keeps for the client, once they stay the same."""
    before = -1
    while True:
        now = int(gates_end(gate_port, client_port)[4].split(":")[0], 16)
        if now == before:
            return now
        before = now
        time.sleep(0.5)


def test_claim_03_the_kernel_takes_no_more_than_it_can_send(home: Home) -> None:
    """Of a client that has read at full speed: its windows and buffers have grown."""
    with StubGate(home) as stub, RawClient(home.path / "profile/client0") as client:
        for _ in range(3):
            client.send(client.request(OBSERVE, LARGE).SerializeToString())
        assert results(client.receive()[1])[0] == "OK"
        client.read_bytes(2 << 20)
        gate_port = int(stub.address.rsplit(":", 1)[1])
        kept = unread_of(gate_port, client.port)
        print(f"{kept >> 10} KiB")
        assert 0 < kept < UNSENT_BYTES + SLACK_BYTES


def test_claim_07_a_gate_asks_silent_peers_after_five_seconds(home: Home) -> None:
    with StubGate(home) as stub, RawClient(home.path / "profile/client0") as client:
        assert client.call(HEALTH).code == 0
        gate_port = int(stub.address.rsplit(":", 1)[1])
        until = time.monotonic() + PATIENCE_S
        while timer_of(gate_port, client.port)[0] != KEEPALIVE:
            assert time.monotonic() < until  # the reply's acknowledgement is on its way
        assert timer_of(gate_port, client.port)[1] <= 5.0
