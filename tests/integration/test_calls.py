"""The envelope's rules at the real gate: at most once, deadlines, cancel, limits."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from warded.v1 import observation_wd as pb
from warded.v1 import rpc_wd

from tests.conftest import NewGate, NewHome
from tests.integration.items import item
from tests.integration.raw import Raw, call_id, reason, uuid_text
from tests.support.gate import Gate

WHOAMI = "/warded.v1.Token/WhoAmI"
OBSERVE = "/warded.v1.Observation/GetObservation"
CANCEL = rpc_wd.Request.CANCEL


def batch(*actions: str, **fields: Any) -> Any:
    """A request for the actions."""
    items = [item(a, trajectory_id=f"t{i}", **fields) for i, a in enumerate(actions)]
    return pb.GetObservationRequest(items=items)


@pytest.fixture
def raw(trainer: Path) -> Any:
    with Raw(trainer) as connection:
        yield connection


CASES: list[tuple[str, dict[str, Any], str]] = [
    ("no token", {"token": ""}, "TOKEN_MISSING"),
    ("half a token", {"token": "wdt1_abc"}, "TOKEN_MALFORMED"),
    ("no call id", {"call_id": b""}, "FIELD_INVALID"),
    ("a call id of 15 bytes", {"call_id": call_id()[:15]}, "FIELD_INVALID"),
    ("a UUIDv4", {"call_id": bytes.fromhex("00112233445546778899aabbccddeeff")}, "FIELD_INVALID"),
    ("another version", {"version": 2}, "FIELD_INVALID"),
    ("an unknown kind", {"kind": 99}, "FIELD_INVALID"),
    ("an unknown method", {"method": "/warded.v1.Token/Nope"}, "METHOD_UNKNOWN"),
    ("a forbidden method", {"method": "/warded.v1.Audit/Head"}, "METHOD_UNKNOWN"),
    ("too long a timeout", {"timeout_ms": 30001}, "FIELD_INVALID"),
    ("an endless timeout", {"timeout_ms": 2**63}, "FIELD_INVALID"),
    ("an id of an hour ago", {"call_id": call_id(ahead_ms=-3_600_000)}, "CALL_ID_EXPIRED"),
    ("an id of an hour ahead", {"call_id": call_id(ahead_ms=3_600_000)}, "CLOCK_SKEW"),
    ("garbage as payload", {"payload": b"\xff\xff\xff"}, "MALFORMED"),
    ("too much metadata", {"metadata": {"k": "v" * 8192}}, "TOO_LARGE"),
    ("a bad metadata key", {"metadata": {"K e y": "v"}}, "FIELD_INVALID"),
    ("all well", {}, "OK"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "fields", "want"), CASES, ids=[c[0] for c in CASES])
def test_claim_05_each_fault_of_an_envelope_has_its_reason(
    raw: Raw, name: str, fields: dict[str, Any], want: str
) -> None:
    del name
    reply = raw.ask(**{"method": WHOAMI, **fields})
    assert reason(reply) == want, reply.message
    assert bool(reply.payload) is (want == "OK")
    assert (reply.message == "") is (want == "OK")
    assert raw.token[15:58] not in reply.message
    assert abs(reply.now_ms - time.time() * 1000) < 60_000
    assert reason(raw.ask(WHOAMI)) == "OK", "the connection goes on"


def test_bytes_that_are_no_envelope_are_malformed(raw: Raw) -> None:
    for body, want in (
        (b"", "FIELD_INVALID"),
        (b"\x00", "MALFORMED"),
        (b"\xff" * 100, "MALFORMED"),
        (b"\x0a", "MALFORMED"),
    ):
        raw.send(body)
        _, reply = raw.receive()
        assert reason(reply) == want
    assert reason(raw.ask(WHOAMI)) == "OK"


def test_not_built_methods_say_so_to_who_may_use_them(gate: Gate, raw: Raw) -> None:
    assert reason(raw.ask("/warded.v1.Observation/CallTool")) == "NOT_BUILT"
    assert reason(raw.ask("/warded.v1.Step/Step")) == "METHOD_UNKNOWN"
    with Raw(gate.home.admin) as admin:
        assert reason(admin.ask("/warded.v1.Token/Rotate")) == "NOT_BUILT"
        assert reason(admin.ask("/warded.v1.Audit/Tail")) == "NOT_BUILT"


def test_an_ended_call_is_evicted_another_payload_is_reuse(raw: Raw) -> None:
    once = call_id()
    first = raw.ask(OBSERVE, batch("print(1)"), call_id=once, timeout_ms=20000)
    assert reason(first) == "OK"
    again = raw.ask(OBSERVE, batch("print(1)"), call_id=once, attempt=1)
    assert reason(again) == "REPLY_EVICTED"
    other = raw.ask(OBSERVE, batch("print(2)"), call_id=once, attempt=1)
    assert reason(other) == "CALL_ID_REUSED"


def test_a_running_call_is_not_run_twice(gate: Gate, trainer: Path) -> None:
    once = call_id()
    with Raw(trainer) as one, Raw(trainer) as two:
        one.send(one.request(OBSERVE, batch("import time; time.sleep(1)"), call_id=once))
        wait_for_begin(gate, once)
        again = two.ask(OBSERVE, batch("import time; time.sleep(1)"), call_id=once)
        assert reason(again) == "OUTCOME_UNKNOWN"
        assert reason(one.receive()[1]) == "OK"


def wait_for_begin(gate: Gate, once: bytes) -> None:
    """Until the call is on record."""
    end = time.monotonic() + 20
    words = ("audit", "query", "--event", "call.begin", "--call", uuid_text(once), "-o", "jsonl")
    while not gate.home.tokctl(*words).stdout:
        assert time.monotonic() < end
        time.sleep(0.02)


def rows_of(gate: Gate, once: bytes) -> list[dict[str, Any]]:
    """The rows of one call."""
    done = gate.home.tokctl("audit", "query", "--call", uuid_text(once), "-o", "jsonl")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_after_a_restart_used_ids_stay_used(new_home: NewHome, new_gate: NewGate) -> None:
    """Ended: REPLY_EVICTED. Cut off by the crash: OUTCOME_UNKNOWN. Neither runs again."""
    home = new_home()
    trainer = home.profile("trainer", "observe:python_code")
    gate = new_gate(home)
    ended, cut = call_id(), call_id()
    with Raw(trainer) as raw:
        assert reason(raw.ask(OBSERVE, batch("print(1)"), call_id=ended)) == "OK"
        raw.send(raw.request(OBSERVE, batch("import time; time.sleep(60)", wall_ms=60000),
                             call_id=cut, timeout_ms=60000))  # fmt: skip
        wait_for_begin(gate, cut)
    gate.kill()
    again = new_gate(home)
    with Raw(trainer) as raw:
        evicted = raw.ask(OBSERVE, batch("print(1)"), call_id=ended)
        unknown = raw.ask(
            OBSERVE, batch("import time; time.sleep(60)", wall_ms=60000), call_id=cut
        )
    assert (reason(evicted), reason(unknown)) == ("REPLY_EVICTED", "OUTCOME_UNKNOWN")
    assert [r["event"] for r in rows_of(again, ended)].count("call.begin") == 1
    assert [r["event"] for r in rows_of(again, cut)].count("call.begin") == 1


def test_claim_09_the_next_start_records_what_was_cut_off(
    new_home: NewHome, new_gate: NewGate
) -> None:
    home = new_home()
    trainer = home.profile("trainer", "observe:python_code")
    gate = new_gate(home)
    cut = call_id()
    with Raw(trainer) as raw:
        raw.send(raw.request(OBSERVE, batch("while True: pass", wall_ms=60000),
                             call_id=cut, timeout_ms=60000))  # fmt: skip
        wait_for_begin(gate, cut)
    gate.kill()
    again = new_gate(home)
    events = [r["event"] for r in rows_of(again, cut)]
    assert events[0] == "call.begin"
    assert len(events) >= 2, "the cut off call is closed on record"
    found = again.home.tokctl("audit", "query", "--event", "gate.recovered", "-o", "jsonl")
    assert found.stdout, "the start says what it found"


def test_cancel_ends_the_call_and_is_idempotent(gate: Gate, trainer: Path) -> None:
    once = call_id()
    with Raw(trainer) as one, Raw(trainer) as two:
        number = one.send(
            one.request(
                OBSERVE,
                batch("print('on', flush=True)\nwhile True: pass", wall_ms=60000),
                call_id=once,
                timeout_ms=60000,
            )
        )
        wait_for_begin(gate, once)
        began = time.monotonic()
        assert reason(two.ask("", call_id=once, kind=CANCEL)) == "OK"
        got, reply = one.receive()
        assert got == number
        assert reason(reply) == "CANCELLED"
        assert time.monotonic() - began < 5
        assert reason(two.ask("", call_id=once, kind=CANCEL)) == "OK"
        assert reason(two.ask("", call_id=call_id(), kind=CANCEL)) == "OK"
    ends = [r for r in rows_of(gate, once) if r["event"] == "call.end"]
    assert [r["reason"] for r in ends] == ["CANCELLED"]


def test_claim_07_a_vanished_client_has_its_actions_killed(gate: Gate, trainer: Path) -> None:
    once = call_id()
    raw = Raw(trainer)
    raw.send(raw.request(OBSERVE, batch("while True: pass", wall_ms=120000),
                         call_id=once, timeout_ms=120000))  # fmt: skip
    wait_for_begin(gate, once)
    raw.close()
    end = time.monotonic() + 20
    while not [r for r in rows_of(gate, once) if r["event"] == "call.end"]:
        assert time.monotonic() < end, "the action lives on without its caller"
        time.sleep(0.05)


def padded(raw: Raw, size: int) -> bytes:
    """An envelope of exactly `size` bytes whose payload is no WhoAmIRequest."""
    body = raw.request(WHOAMI)
    head = b"\x4a"  # field 9, payload
    for digits in range(1, 6):
        left = size - len(body) - len(head) - digits
        length = bytearray()
        while left >> 7 * len(length) >= 128:
            length.append(left >> 7 * len(length) & 127 | 128)
        length.append(left >> 7 * len(length))
        if len(length) == digits:
            return body + head + bytes(length) + b"\xff" * left
    raise AssertionError(size)


def test_oversize_frames_are_answered_or_dropped(trainer: Path) -> None:
    """n-1, n, n+1 of the frame are answered; a length out of this world is not read."""
    limit = 16 << 20
    with Raw(trainer) as raw:
        for size, want in (
            (limit - 1, "MALFORMED"),
            (limit, "MALFORMED"),
            (limit + 1, "TOO_LARGE"),
            (limit + 60_000, "TOO_LARGE"),
        ):
            raw.send(padded(raw, size))
            reply = raw.receive()[1]
            assert reason(reply) == want, reply.message
        assert "limits.frame_bytes" in reply.message
        assert reason(raw.ask(WHOAMI)) == "OK", "the connection goes on"
        raw.send_bytes((1 << 62).to_bytes(8, "big") + b"\x80\x00\x00\x01")
        with pytest.raises(OSError, match="."):
            raw.receive()


def test_many_callers_at_once_all_get_their_own_answers(trainer: Path) -> None:
    """50 connections on a barrier, three rounds: the handshake state is nobody's."""
    barrier = threading.Barrier(50)
    bad: list[str] = []

    def work(number: int) -> None:
        barrier.wait(30)
        for _ in range(3):
            try:
                with Raw(trainer) as raw:
                    reply = raw.ask(WHOAMI)
                    if reason(reply) != "OK":
                        bad.append(f"{number}: {reason(reply)} {reply.message}")
            except OSError as error:
                bad.append(f"{number}: {error!r}")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not bad
