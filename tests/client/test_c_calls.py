"""libwarded: calls, deadlines, refusals, forks, many threads, over a fake gate."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from warded import v1

from tests.client.c_caller import calling, parse
from tests.client.fake_gate import CLOSE, FakeGate

Start = Callable[..., FakeGate]
ProfileOf = Callable[[FakeGate], Path]


def test_calls_are_answered_with_head_and_clock(
    start: Start, profile_of: ProfileOf
) -> None:
    gate = start()
    with calling(profile_of(gate)) as caller:
        first, second = caller.check(), caller.check()
    assert (first.reason, first.head_seq) == ("ok", 1)
    assert second.head_seq == 2
    assert abs(second.now_ms - gate.now_ms()) < 10_000
    assert gate.seen.handshakes == 1  # one connection for both
    request = gate.seen.requests[0]
    assert 9_000 < request.timeout_ms <= 10_000
    assert request.version == 1
    assert request.call_id[6] >> 4 == 7


@pytest.mark.parametrize("hours", [-1, 1])
def test_clock_an_hour_off_is_refused_once_then_works_in_c(
    start: Start, profile_of: ProfileOf, hours: int
) -> None:
    gate = start(ahead_ms=hours * 3_600_000)
    with calling(profile_of(gate)) as caller:
        assert [caller.check().reason for _ in range(3)] == ["ok"] * 3
    requests = gate.seen.requests
    assert [r.attempt for r in requests] == [0, 1, 0, 0]
    assert len({r.call_id for r in requests}) == 4
    dated_ms = int.from_bytes(requests[1].call_id[:6], "big")
    assert abs(dated_ms - gate.now_ms()) < 10_000


def test_a_gate_that_never_likes_the_date_is_asked_twice_only_by_c(
    start: Start, profile_of: ProfileOf
) -> None:
    gate = start(lambda gate, r: gate.reply(r, code=3, reason=v1.CLOCK_SKEW))
    with calling(profile_of(gate)) as caller:
        answer = caller.check()
    assert (answer.reason, answer.phase) == ("CLOCK_SKEW", "remote")
    assert not answer.may_have_run
    assert len(gate.seen.requests) == 2


def test_a_call_id_of_ones_own_is_sent_as_it_is_and_never_dated_anew(
    start: Start, profile_of: ProfileOf
) -> None:
    gate = start(lambda gate, r: gate.reply(r, code=10, reason=v1.CALL_ID_EXPIRED))
    own = "0190163d8694739baea5966c26f8ad91"
    with calling(profile_of(gate)) as caller:
        answer = parse(caller.do(f"id {own} 5000"))
        refused = parse(caller.do(f"id {'0' * 31}1 5000"))
    assert answer.reason == "CALL_ID_EXPIRED"
    assert answer.call_id.replace("-", "") == own
    assert [r.call_id.hex() for r in gate.seen.requests] == [own]
    assert (refused.reason, refused.phase) == ("FIELD_INVALID", "send")


# (code, reason, may have run)
REFUSALS = [
    (16, v1.TOKEN_EXPIRED, False),
    (16, v1.TOKEN_REVOKED, False),
    (7, v1.SCOPE_MISSING, False),
    (8, v1.QUEUE_FULL, False),
    (8, v1.QUOTA, False),
    (3, v1.FIELD_INVALID, False),
    (3, v1.CALL_ID_REUSED, False),
    (5, v1.TOKEN_ID_UNKNOWN, False),
    (9, v1.CONFLICT, False),
    (10, v1.REPLY_EVICTED, True),
    (10, v1.OUTCOME_UNKNOWN, True),
    (4, v1.QUEUE_TIMEOUT, False),
    (4, v1.RUN_TIMEOUT, True),
    (1, v1.CANCELLED, True),
    (14, v1.AUDIT_UNWRITABLE, False),
    (14, v1.DRAINING, False),
    (12, v1.NOT_BUILT, False),
    (13, v1.EXECUTOR_DIED, True),
    (15, v1.OUTCOME_UNRECORDED, True),
]


@pytest.mark.parametrize(("code", "reason", "ran"), REFUSALS)
def test_every_refusal_of_the_gate_keeps_code_reason_and_retry(
    start: Start, profile_of: ProfileOf, code: int, reason: int, ran: bool
) -> None:
    def answer(gate: FakeGate, request: Any) -> Any:
        return gate.reply(
            request, code=code, reason=reason, message="because", retry_after_ms=250
        )

    with calling(profile_of(start(answer))) as caller:
        got = caller.check()
    assert (got.reason, got.code) == (v1.Reason.Name(reason), code)
    assert (got.phase, got.retry_after_ms, got.may_have_run) == ("remote", 250, ran)
    assert "because" in got.message
    assert "/warded.v1.Health/Check" in got.message
    assert len(got.call_id) == 36
    assert got.cure


def test_a_reason_of_a_newer_gate_is_shown_by_number(
    start: Start, profile_of: ProfileOf
) -> None:
    gate = start(lambda gate, r: gate.reply(r, code=9, reason=4711))
    with calling(profile_of(gate)) as caller:
        assert caller.check().reason == "REASON_4711"


def test_an_answer_that_is_none_leaves_the_outcome_open(
    start: Start, profile_of: ProfileOf
) -> None:
    answers = [b"\xff\xff\xff", v1.Reply(call_id=b"0" * 16)]
    with calling(profile_of(start(lambda gate, r: answers.pop()))) as caller:
        for _ in range(2):
            got = caller.check()
            assert (got.reason, got.phase, got.may_have_run) == ("BUG", "wait", True)


def test_connection_that_ends_before_the_answer_may_have_run(
    start: Start, profile_of: ProfileOf
) -> None:
    gate = start(lambda gate, r: CLOSE)
    with calling(profile_of(gate)) as caller:
        got = caller.check()
        assert (got.reason, got.phase) == ("OUTCOME_UNKNOWN", "wait")
        assert got.may_have_run
        assert len(gate.seen.requests) == 1  # never sent again
        again = caller.check()
        assert again.reason == "OUTCOME_UNKNOWN"
    assert len(gate.seen.requests) == 2


def test_silence_ends_two_seconds_after_the_deadline(
    start: Start, profile_of: ProfileOf
) -> None:
    gate = start(lambda gate, r: None)
    with calling(profile_of(gate)) as caller:
        began = time.monotonic()
        got = caller.check(300)
        took = time.monotonic() - began
    assert (got.reason, got.phase) == ("RUN_TIMEOUT", "wait")
    assert got.may_have_run
    assert took >= 2.3


def test_gate_that_comes_back_is_found_again(
    start: Start, profile_of: ProfileOf
) -> None:
    gate = start()
    with calling(profile_of(gate)) as caller:
        assert caller.check().reason == "ok"
        gate.drop_connections()
        gate.wait_for(lambda seen: seen.closed == 1)
        answers = [caller.check() for _ in range(2)]
        assert answers[-1].reason == "ok"  # the first may have met the end
        gate.wait_for(lambda seen: seen.handshakes == 2)


def test_closed_port_is_unreachable_and_safe_to_retry_in_c(
    start: Start, profile_of: ProfileOf
) -> None:
    gate = start()
    profile = profile_of(gate)
    gate.close()
    with calling(profile) as caller:
        got = caller.check()
    assert (got.reason, got.phase) == ("UNREACHABLE", "connect")
    assert not got.may_have_run
    assert str(gate.port) in got.message


def test_name_that_nobody_knows_is_unreachable(
    start: Start, profile_of: ProfileOf
) -> None:
    profile = profile_of(start())
    (profile / "server").write_text("no-such-host.invalid:1\n")
    with calling(profile) as caller:
        got = caller.check()
    assert (got.reason, got.phase) == ("UNREACHABLE", "resolve")


def test_second_server_is_tried_when_the_first_is_not_there(
    start: Start, profile_of: ProfileOf
) -> None:
    gone, gate = start(), start()
    profile = profile_of(gate)
    gone.close()
    (profile / "server").write_text(gone.server_line + gate.server_line)
    with calling(profile) as caller:
        assert caller.check().reason == "ok"


def test_host_that_never_speaks_ends_at_the_deadline(
    start: Start, profile_of: ProfileOf
) -> None:
    profile = profile_of(start())
    with socket.create_server(("127.0.0.1", 0)) as mute:
        (profile / "server").write_text(f"127.0.0.1:{mute.getsockname()[1]}\n")
        with calling(profile) as caller:
            got = caller.check(300)
            assert (got.reason, got.code) == ("QUEUE_TIMEOUT", 4)
            assert not got.may_have_run
            assert caller.do("reopen") == "ok\n"  # ends the handshake at once


def test_forked_child_is_answered_forked_and_the_parent_goes_on(
    start: Start, profile_of: ProfileOf
) -> None:
    gate = start()
    with calling(profile_of(gate)) as caller:
        assert caller.check().reason == "ok"
        for command in ("fork", "fork-open"):
            got = parse(caller.do(command))
            assert (got.reason, got.code) == ("FORKED", 9)
            assert not got.may_have_run
        assert caller.check().reason == "ok"
    assert len(gate.seen.requests) == 2


def test_many_threads_share_a_channel(start: Start, profile_of: ProfileOf) -> None:
    gate = start()
    with calling(profile_of(gate)) as caller:
        assert caller.do("many 16 50") == "ok 800 failed 0\n"
    assert len({r.call_id for r in gate.seen.requests}) == 800
    assert gate.seen.handshakes == 1


def test_too_large_is_not_sent(start: Start, profile_of: ProfileOf) -> None:
    gate = start()
    with calling(profile_of(gate)) as caller:
        got = parse(caller.do(f"pad 10000 {16 << 20}"))
        assert (got.reason, got.phase) == ("TOO_LARGE", "send")
        assert parse(caller.do(f"pad 60000 {15 << 20}")).reason == "ok"
    assert len(gate.seen.requests) == 1


def test_metadata_goes_along(start: Start, profile_of: ProfileOf) -> None:
    gate = start()
    with calling(profile_of(gate)) as caller:
        assert parse(caller.do("meta 5000 traceparent 00-aa-bb-01")).reason == "ok"
        assert parse(caller.do("meta 5000 alone")).reason == "FIELD_INVALID"
    (request,) = gate.seen.requests
    assert dict(request.metadata) == {"traceparent": "00-aa-bb-01"}
