"""Replies of 16 MiB read half way: what waits is bounded, friends go on."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Iterator

import pytest
from warded.v1 import Reply

from tests.conftest import NewHome
from tests.support import strangers
from tests.support.calls import HEALTH, OBSERVE, batch, reason, results
from tests.support.raw_client import RawClient
from tests.support.stub_gate import StubGate

LONG = bool(os.environ.get("WARDED_LONG"))
MIB = 1 << 20
SHARES = 4
BUDGET = 64 * MIB  # limits.request_bytes: a quarter for each principal
KEPT = 16 * MIB  # limits.reply_bytes: for those who ask again
GREEDY = [f"greedy{i}" for i in range(6)]
EACH = 100 if LONG else 3  # connections
MUCH = batch(*["big 1048576"] * 15)
REPLY = 15 * MIB
CALLS = 200
WINDOW = 65536  # what the system keeps for who does not read

# Of one call while its reply is made: results, message, envelope, NNG's copy of it; and
# what AddressSanitizer keeps of freed memory, here.
IN_WORK = 6 * REPLY
QUARANTINE_MIB = 8
CONNECTIONS = EACH * len(GREEDY)
CONNECTION = 128 * 1024  # of one: TLS's buffers, and what ASan puts around them


@pytest.fixture
def gate(new_home: NewHome, monkeypatch: pytest.MonkeyPatch) -> Iterator[StubGate]:
    """Over a stub executor, with 64 MiB for replies that are not read."""
    strangers.allow_descriptors()
    strangers.keep_little_freed(monkeypatch, QUARANTINE_MIB)
    home = new_home()
    home.configure(f"limits:\n  request_bytes: {BUDGET}\n  reply_bytes: {KEPT}\n")
    for name in ("trainer", *GREEDY):
        home.profile(name, "observe:python_code")
    with StubGate(home) as running:
        yield running


def p99_ms(gate: StubGate) -> float:
    """Of a healthy client's small calls."""
    return strangers.p99_ms(gate.home.path / "profile/trainer", CALLS)


def ask_for_much(raw: RawClient) -> str:
    """Ask for 15 MiB and read half of it: "held", or why there is no such reply."""
    raw.send(raw.request(OBSERVE, MUCH).SerializeToString())
    size = raw.read_length()
    if size > MIB:
        raw.read_bytes(size // 2)
        return "held"
    return reason(Reply.FromString(raw.read_bytes(size)[4:]))


@pytest.mark.limit(3600 if LONG else 180)
def test_claim_03_replies_that_are_read_half_way_stay_within_the_budget(
    gate: StubGate,
) -> None:
    p99_ms(gate)
    quiet = p99_ms(gate)
    said: Counter[str] = Counter()
    before = peak = strangers.resident(gate.pid)
    with contextlib.ExitStack() as stack:
        for turn in range(CONNECTIONS):
            profile = gate.home.path / "profile" / GREEDY[turn % len(GREEDY)]
            raw = RawClient(profile, window=WINDOW)
            stack.callback(raw.close)
            said[ask_for_much(raw)] += 1
            peak = max(peak, strangers.resident(gate.pid))
            if turn == CONNECTIONS // 2:
                beside = p99_ms(gate)
        strangers.wait_counted(gate, "tls.reject", said["held"], "send_stalled")
    print(f"p99 of a healthy client: quiet {quiet:.1f} ms, beside them {beside:.1f} ms")
    print(f"{dict(said)}: gate {before >> 20} MiB before, {peak >> 20} MiB at most")
    # On a slow machine those who hold go, after 10 s, before there is no room.
    assert said["held"] and set(said) <= {"held", "REPLY_EVICTED"}
    most = BUDGET + KEPT + IN_WORK + QUARANTINE_MIB * MIB + CONNECTIONS * CONNECTION
    assert peak - before < most
    assert beside < 1000


def test_claim_03_without_room_for_a_reply_its_connection_goes_on(
    gate: StubGate,
) -> None:
    greedy, trainer = (gate.home.path / "profile" / n for n in ("greedy0", "trainer"))
    with RawClient(greedy, window=WINDOW) as holder, RawClient(greedy) as other:
        assert ask_for_much(holder) == "held"
        reply = other.call(OBSERVE, MUCH)
        assert reason(reply) == "REPLY_EVICTED"
        assert f"limits.request_bytes ({BUDGET})" in reply.message
        assert other.call(HEALTH).code == 0
        assert results(other.call(OBSERVE, batch("small"))) == ["OK"]
        with RawClient(trainer) as friend:
            assert results(friend.call(OBSERVE, MUCH)) == ["OK"] * 15
    end = time.monotonic() + strangers.PATIENCE_S
    with RawClient(greedy) as again:  # all is given back with the connection
        while (reply := again.call(OBSERVE, MUCH)).code and time.monotonic() < end:
            assert reason(reply) == "REPLY_EVICTED"
    assert results(reply) == ["OK"] * 15


def yielded(gate: StubGate) -> bool:
    """Has one yielded, by the trail, which tells of it within a second or two?"""
    with contextlib.suppress(AssertionError):
        strangers.wait_counted(gate, "conn", 1, "reply_yielded", patience_s=3)
        return True
    return False


@pytest.mark.limit(180)
def test_claim_03_who_leaves_much_unread_yields_to_a_friends_replies(
    gate: StubGate,
) -> None:
    folder = gate.home.path / "profile"
    for _ in range(3):  # on a slow machine those who hold may have gone before
        with contextlib.ExitStack() as stack:
            for name in GREEDY[:SHARES]:
                raw = RawClient(folder / name, window=WINDOW)
                stack.callback(raw.close)
                ask_for_much(raw)
            friend = stack.enter_context(RawClient(folder / "trainer"))
            for large in (1, 5):  # with the 60 held: within, and beyond, all
                answers = results(friend.call(OBSERVE, batch(*["big 1048576"] * large)))
                assert answers == ["OK"] * large
        if yielded(gate):
            return
    pytest.fail("nobody has yielded")
