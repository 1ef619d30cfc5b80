"""Four principals hold all there is: a friend's calls come through."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator

import pytest
from warded.v1 import RevokeRequest, WhoAmIReply

from tests.conftest import NewHome
from tests.support import strangers
from tests.support.calls import HEALTH, WHO, reason
from tests.support.raw_client import RawClient
from tests.support.stub_gate import StubGate

MIB = 1 << 20
BUDGET = 16 * MIB
FRAME = BUDGET // 4  # the least budget for it
LONGEST = FRAME + 65536  # a quarter of all, to the byte
GREEDY = [f"greedy{i}" for i in range(4)]
REVOKE = "/warded.v1.Token/Revoke"
ROUNDS = 3


@pytest.fixture
def gate(new_home: NewHome) -> Iterator[StubGate]:
    """With 16 MiB for all requests together."""
    home = new_home()
    home.configure(f"limits:\n  frame_bytes: {FRAME}\n  request_bytes: {BUDGET}\n")
    home.profile("boss", "token:**")
    for name in ("trainer", *GREEDY):
        home.profile(name, "observe:python_code")
    with StubGate(home) as running:
        yield running


def hold(gate: StubGate, stack: contextlib.ExitStack) -> list[RawClient]:
    """Each of the greedy announces a quarter, without a token, and says no more."""
    held = []
    for name in GREEDY:
        raw = stack.enter_context(
            RawClient(gate.home.path / "profile" / name, token="")
        )
        raw.send_bytes(struct.pack(">Q", LONGEST))
        held.append(raw)
    return held


def test_claim_03_who_announces_much_shuts_nobody_out(gate: StubGate) -> None:
    folder = gate.home.path / "profile"
    with contextlib.ExitStack() as stack, RawClient(folder / "trainer") as old:
        token = WhoAmIReply.FromString(old.call(WHO).payload).token.id
        for _ in range(ROUNDS):
            hold(gate, stack)
            for _ in range(5):
                assert old.call(HEALTH).code == 0
                with RawClient(folder / "trainer") as new:
                    assert new.call(WHO).code == 0
            with RawClient(folder / "trainer") as large:
                assert reason(large.ask(bytes(3 * MIB))) == "MALFORMED"
        hold(gate, stack)
        with RawClient(folder / "boss") as boss:
            revoke = RevokeRequest(ids=[token]).SerializeToString()
            assert boss.call(REVOKE, revoke).code == 0
        assert reason(old.call(WHO)) == "TOKEN_REVOKED"
    strangers.wait_counted(gate, "conn", 1, "request_yielded")


def test_claim_03_a_reload_ends_the_connections_of_who_is_denied(
    gate: StubGate,
) -> None:
    owner = "spiffe://warded.local/ns/default/owner/root/client"
    with contextlib.ExitStack() as stack:
        held = hold(gate, stack)
        denied = "".join(f"{owner}/{name}\n" for name in GREEDY)
        (gate.home.path / "state/gate/deny").write_text(denied)
        gate.do("reload")
        for raw in held:
            raw.expect_closed()
        with RawClient(gate.home.path / "profile/trainer") as friend:
            assert friend.call(WHO).code == 0
    strangers.wait_counted(gate, "conn", len(GREEDY), "IDENTITY_DENIED")
